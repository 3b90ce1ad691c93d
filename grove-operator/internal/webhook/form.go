package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/refusal"
)

// formFirst asks whether what was written is a PodCliqueSet at all, before anything else looks at it: a typed decoder drops
// fields that do not exist, stops at the first value of a wrong type, and tells of it in words of Go.
type formFirst struct {
	sets *podCliqueSets
	// next handles sets without a flaw in their form.
	next ctrladmission.Handler
}

// Handle turns down what has flaws in its form, and tells what else is wrong where that can be told.
func (f formFirst) Handle(ctx context.Context, request ctrladmission.Request) ctrladmission.Response {
	changed, err := specChanged(request)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if !changed {
		return f.next.Handle(ctx, request)
	}
	set := &grovev1alpha1.PodCliqueSet{}
	problems := manifests.DecodeStrict(request.Object.Raw, set)
	if len(problems) == 0 {
		return f.next.Handle(ctx, request)
	}
	causes := refusal.Problems(problems)
	if wrong := slices.ContainsFunc(problems, func(problem manifests.Problem) bool { return !problem.Unknown }); !wrong {
		causes = append(causes, refusal.Errors(f.content(ctx, request, set))...)
	}
	return refusal.Of(request, causes)
}

// content is what is wrong with a set that has unknown fields, were it without them; nothing where that cannot be told.
func (f formFirst) content(ctx context.Context, request ctrladmission.Request, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	old, err := complete(request, set)
	if err != nil {
		return nil
	}
	_, errs, err := f.sets.judge(ctx, old, set)
	if err != nil {
		return nil
	}
	return errs
}

// specChanged tells whether a request brings a new spec. A set that an older or newer release accepted can thus still be
// labelled, and released for deletion.
func specChanged(request ctrladmission.Request) (bool, error) {
	if request.Operation != admissionv1.Update {
		return request.Operation == admissionv1.Create, nil
	}
	var before, after struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     any               `json:"spec"`
	}
	if err := json.Unmarshal(request.OldObject.Raw, &before); err != nil {
		return false, fmt.Errorf("decoding the old PodCliqueSet: %w", err)
	}
	if err := json.Unmarshal(request.Object.Raw, &after); err != nil {
		return false, fmt.Errorf("decoding the new PodCliqueSet: %w", err)
	}
	return after.Metadata.DeletionTimestamp == nil && !equality.Semantic.DeepEqual(before.Spec, after.Spec), nil
}

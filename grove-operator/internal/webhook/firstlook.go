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

// firstLook judges what was written before anything else does. A typed decoder drops fields that do not exist, stops at the
// first value of a wrong type, and tells of it in words of Go; the schema tells of nothing but what it knows itself, and
// calls a name that is there twice by another path than the name's.
type firstLook struct {
	sets *podCliqueSets
	// next handles sets that nothing is wrong with.
	next ctrladmission.Handler
}

// Handle turns down a new spec that is wrong, with all findings at once.
func (f firstLook) Handle(ctx context.Context, request ctrladmission.Request) ctrladmission.Response {
	changed, err := specChanged(request)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if !changed {
		return f.next.Handle(ctx, request)
	}
	set := &grovev1alpha1.PodCliqueSet{}
	problems := manifests.DecodeStrict(request.Object.Raw, set)
	causes := refusal.Problems(problems)
	if wrongType := slices.ContainsFunc(problems, func(problem manifests.Problem) bool { return !problem.Unknown }); !wrongType {
		causes = append(causes, refusal.Errors(f.judge(ctx, request, set))...)
	}
	if len(causes) > 0 {
		return refusal.Of(request, causes)
	}
	return f.next.Handle(ctx, request)
}

// judge asks the rules; what cannot be judged now is not admitted by the validation that follows.
func (f firstLook) judge(ctx context.Context, request ctrladmission.Request, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	if set.Name == "" && set.GenerateName != "" {
		set.Name = set.GenerateName + "xxxxx" // As long as the one that the API server will make of it.
	}
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

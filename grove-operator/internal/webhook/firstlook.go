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
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"packtree.dev/shared/manifests"
	"packtree.dev/shared/refusal"
)

// firstLook validates the written object before all others. A typed decoder drops unknown fields, stops at the first
// value of a wrong type, and reports it in words of Go. The schema finds only its own errors, and reports a repeated
// name at another path than the name's.
type firstLook[T client.Object] struct {
	// empty returns an object to decode into.
	empty func() T
	// judge returns the errors that validation finds.
	judge func(ctx context.Context, request ctrladmission.Request, object T) field.ErrorList
	// next handles objects without errors.
	next ctrladmission.Handler
}

// Handle refuses a new spec that is wrong, with all findings at once.
func (f firstLook[T]) Handle(ctx context.Context, request ctrladmission.Request) ctrladmission.Response {
	changed, err := specChanged(request)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if !changed {
		return f.next.Handle(ctx, request)
	}
	object := f.empty()
	problems := manifests.DecodeStrict(request.Object.Raw, object)
	causes := refusal.Problems(problems)
	if wrongType := slices.ContainsFunc(problems,
		func(problem manifests.Problem) bool { return !problem.Unknown }); !wrongType {
		if object.GetName() == "" && object.GetGenerateName() != "" {
			object.SetName(object.GetGenerateName() + "xxxxx") // As long as the name that the API server will generate.
		}
		causes = append(causes, refusal.Errors(f.judge(ctx, request, object))...)
	}
	if len(causes) > 0 {
		return refusal.Of(request, causes)
	}
	return f.next.Handle(ctx, request)
}

// specChanged reports whether a request brings a new spec. An object that an older or newer release accepted can thus
// still be labelled, and its finalizers can be removed.
func specChanged(request ctrladmission.Request) (bool, error) {
	if request.Operation != admissionv1.Update {
		return request.Operation == admissionv1.Create, nil
	}
	var before, after struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     any               `json:"spec"`
	}
	if err := json.Unmarshal(request.OldObject.Raw, &before); err != nil {
		return false, fmt.Errorf("decoding the old object: %w", err)
	}
	if err := json.Unmarshal(request.Object.Raw, &after); err != nil {
		return false, fmt.Errorf("decoding the new object: %w", err)
	}
	return after.Metadata.DeletionTimestamp == nil && !equality.Semantic.DeepEqual(before.Spec, after.Spec), nil
}

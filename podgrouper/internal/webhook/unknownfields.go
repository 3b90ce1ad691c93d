package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/refusal"
)

// unknownFields refuses a PodGroup with a misspelt field before any other validation: the intended field is missing,
// and that would be reported instead. A field that is not similar to one of ours may be one of KAI's, since its
// programs write PodGroups too: it stays, with a warning.
type unknownFields struct {
	next admission.Handler
}

// Handle answers one review.
func (u unknownFields) Handle(ctx context.Context, request admission.Request) admission.Response {
	problems, err := unknown(request)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	var misspelt []manifests.Problem
	var warnings []string
	for _, problem := range problems {
		if problem.Meant != "" {
			misspelt = append(misspelt, problem)
		} else {
			warnings = append(warnings, problem.Path+": unknown field, which says nothing to this scheduler")
		}
	}
	if len(misspelt) > 0 {
		return refusal.Of(request, refusal.Problems(misspelt))
	}
	return u.next.Handle(ctx, request).WithWarnings(warnings...)
}

// written are the parts of a PodGroup that are read.
type written struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     any               `json:"spec"`
}

// unknown returns the fields of a new spec that do not exist. An unchanged spec is not checked again.
func unknown(request admission.Request) ([]manifests.Problem, error) {
	var before, after written
	if err := json.Unmarshal(request.Object.Raw, &after); err != nil {
		return nil, fmt.Errorf("reading the PodGroup: %w", err)
	}
	if request.Operation == admissionv1.Update {
		if err := json.Unmarshal(request.OldObject.Raw, &before); err != nil {
			return nil, fmt.Errorf("reading the PodGroup of before: %w", err)
		}
		if after.Metadata.DeletionTimestamp != nil || equality.Semantic.DeepEqual(before.Spec, after.Spec) {
			return nil, nil
		}
	}
	spec, err := json.Marshal(map[string]any{"spec": after.Spec})
	if err != nil {
		return nil, fmt.Errorf("reading the spec of the PodGroup: %w", err)
	}
	var found []manifests.Problem
	for _, problem := range manifests.DecodeStrict(spec, &struct {
		Spec scheduling.PodGroupSpec `json:"spec"`
	}{}) {
		if problem.Unknown { // Wrong values are left to the schema.
			found = append(found, problem)
		}
	}
	return found, nil
}

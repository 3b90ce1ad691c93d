package controller

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/apply"
)

// conditions is the part of a status that the pod grouper writes.
type conditions struct {
	Conditions []metav1.Condition `json:"conditions"`
}

// applyCondition writes one condition of an object's status, which stands there as before, and leaves the others to those
// who write them. It returns false if the condition says the same already, or if the object is gone.
func applyCondition(
	ctx context.Context, w apply.Writer, now time.Time, object client.Object, before *metav1.Condition, condition metav1.Condition,
) (bool, error) {
	var stands []metav1.Condition
	if before != nil {
		stands = []metav1.Condition{*before}
	}
	return applyConditions(ctx, w, now, object, stands, []metav1.Condition{condition})
}

// applyConditions is applyCondition for all conditions of an object that the pod grouper writes: one that is wanted no more
// is taken away.
func applyConditions(
	ctx context.Context, w apply.Writer, now time.Time, object client.Object, before, wanted []metav1.Condition,
) (bool, error) {
	wanted = slices.Clone(wanted)
	for i := range wanted {
		wanted[i].LastTransitionTime = metav1.NewTime(now)
		if stands := meta.FindStatusCondition(before, wanted[i].Type); stands != nil && stands.Status == wanted[i].Status {
			wanted[i].LastTransitionTime = stands.LastTransitionTime
		}
	}
	written, err := w.Status(ctx, object, &conditions{before}, &conditions{wanted})
	if apierrors.IsConflict(err) {
		return false, nil
	}
	return written, err
}

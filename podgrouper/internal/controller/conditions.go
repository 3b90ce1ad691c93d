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

// status is the part of a status that the pod grouper writes.
type status struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// PlacementScore of a PodGang; nil for other kinds.
	PlacementScore *float64 `json:"placementScore,omitempty"`
}

// applyCondition writes one condition of an object's status, given its earlier state, and leaves the other conditions
// to their writers. It returns false if the condition is unchanged, or if the object is gone.
func applyCondition(
	ctx context.Context, w apply.Writer, now time.Time, object client.Object, before *metav1.Condition,
	condition metav1.Condition,
) (bool, error) {
	var stands status
	if before != nil {
		stands.Conditions = []metav1.Condition{*before}
	}
	return applyStatus(ctx, w, now, object, stands, status{Conditions: []metav1.Condition{condition}})
}

// applyStatus is applyCondition for all fields of a status that the pod grouper writes; unset fields are removed.
func applyStatus(
	ctx context.Context, w apply.Writer, now time.Time, object client.Object, before, wanted status,
) (bool, error) {
	wanted.Conditions = slices.Clone(wanted.Conditions)
	for i := range wanted.Conditions {
		condition := &wanted.Conditions[i]
		condition.LastTransitionTime = metav1.NewTime(now)
		stands := meta.FindStatusCondition(before.Conditions, condition.Type)
		if stands != nil && stands.Status == condition.Status {
			condition.LastTransitionTime = stands.LastTransitionTime
		}
	}
	written, err := w.Status(ctx, object, &before, &wanted)
	if apierrors.IsConflict(err) {
		return false, nil
	}
	return written, err
}

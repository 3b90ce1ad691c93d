package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	condition.LastTransitionTime = metav1.NewTime(now)
	stands := conditions{}
	if before != nil {
		stands.Conditions = []metav1.Condition{*before}
		if before.Status == condition.Status {
			condition.LastTransitionTime = before.LastTransitionTime
		}
	}
	written, err := w.Status(ctx, object, &stands, &conditions{[]metav1.Condition{condition}})
	if apierrors.IsConflict(err) {
		return false, nil
	}
	return written, err
}

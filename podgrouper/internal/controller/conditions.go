package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"packtree.dev/podgrouper/internal/podgroups"
)

// applyCondition writes one condition of an object's status, which stands there as before, and leaves the others to those
// who write them. It writes nothing and returns false if the condition says the same already, or if the object is gone: the uid
// of one that has its name now is a conflict.
func applyCondition(ctx context.Context, c client.Client, now time.Time, object client.Object, before *metav1.Condition, condition metav1.Condition) (bool, error) {
	condition.LastTransitionTime = metav1.NewTime(now)
	if before != nil && before.Status == condition.Status {
		condition.LastTransitionTime = before.LastTransitionTime
	}
	if before != nil && *before == condition {
		return false, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&condition)
	if err != nil {
		return false, fmt.Errorf("converting condition: %w", err)
	}
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return false, err
	}
	patch := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{fields}}}}
	patch.SetGroupVersionKind(kind)
	patch.SetNamespace(object.GetNamespace())
	patch.SetName(object.GetName())
	patch.SetUID(object.GetUID())
	err = c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(patch), client.FieldOwner(podgroups.FieldOwner), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

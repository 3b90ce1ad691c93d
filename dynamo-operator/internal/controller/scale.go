package controller

import (
	"context"
	"fmt"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// scale sets the replicas of a live object through its scale subresource, then notes on it what was asked for. Should
// the note fail, the same number is set once more.
func (r *Reconciler) scale(ctx context.Context, scaling backend.Scaling) error {
	object := scaling.Object.DeepCopyObject().(client.Object)
	log.FromContext(ctx).Info("scaling", "name", object.GetName(), "replicas", scaling.Replicas)
	body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: scaling.Replicas}}
	err := r.client.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(body))
	if err != nil {
		return fmt.Errorf("scaling %s: %w", object.GetName(), err)
	}
	note := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationRequestedReplicas, strconv.Itoa(int(scaling.Replicas)))
	patched := scaling.Object.DeepCopyObject().(client.Object)
	if err := r.client.Patch(ctx, patched, client.RawPatch(types.MergePatchType, note), client.FieldOwner(backend.FieldOwner)); err != nil {
		return fmt.Errorf("noting scale of %s: %w", object.GetName(), err)
	}
	return nil
}

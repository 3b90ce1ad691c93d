package controller

import (
	"context"
	"fmt"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// scale sets the replicas of a live object through its scale subresource, then notes on the object which number was
// asked for. If the note fails, the next pass sets the same number once more. The number is bound to the version of
// the object that was read: a pass with a cache that does not show the note yet gets a conflict, and so does not undo
// a later scaling.
func (r *Reconciler) scale(ctx context.Context, wanted backend.Scaling) error {
	object := wanted.Object.DeepCopyObject().(client.Object)
	log.FromContext(ctx).Info("scaling", "name", object.GetName(), "replicas", wanted.Replicas)
	body := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.GetNamespace(), Name: object.GetName(), ResourceVersion: object.GetResourceVersion(),
		},
		Spec: autoscalingv1.ScaleSpec{Replicas: wanted.Replicas},
	}
	err := r.client.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(body))
	if err != nil {
		return err
	}
	note := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationRequestedReplicas,
		strconv.Itoa(int(wanted.Replicas)))
	patched := wanted.Object.DeepCopyObject().(client.Object)
	if err := r.client.Patch(ctx, patched, client.RawPatch(types.MergePatchType, note),
		client.FieldOwner(backend.FieldOwner)); err != nil {
		return fmt.Errorf("noting the number: %w", err)
	}
	return nil
}

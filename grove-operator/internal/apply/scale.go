package apply

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// ApplyPodClique applies a PodClique and leaves a scale of the live one alone. Live may be nil.
func (w Writer) ApplyPodClique(ctx context.Context, desired, live *grovev1alpha1.PodClique) error {
	if live == nil {
		return w.Apply(ctx, desired, nil)
	}
	keepScale(desired, &desired.Spec.Replicas, live, live.Spec.Replicas)
	return w.Apply(ctx, desired, live)
}

// ApplyScalingGroup applies a PodCliqueScalingGroup and leaves a scale of the live one alone. Live may be nil.
func (w Writer) ApplyScalingGroup(ctx context.Context, desired, live *grovev1alpha1.PodCliqueScalingGroup) error {
	if live == nil {
		return w.Apply(ctx, desired, nil)
	}
	keepScale(desired, &desired.Spec.Replicas, live, live.Spec.Replicas)
	return w.Apply(ctx, desired, live)
}

// keepScale leaves the replicas of an object alone that somebody scaled: as long as the template asks for the same as when
// the object was last written, the live number stays. The write is then bound to the version that the number was read
// from, so that a scale which comes in between is a conflict and not undone.
func keepScale(desired client.Object, replicas *int32, live client.Object, liveReplicas int32) {
	const annotation = grovev1alpha1.AnnotationTemplateReplicas
	if desired.GetAnnotations()[annotation] != live.GetAnnotations()[annotation] {
		return
	}
	*replicas = liveReplicas
	desired.SetResourceVersion(live.GetResourceVersion())
}

package children

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// KeepPodCliqueScale has a PodClique keep the replicas of the live one if that was scaled. Live is nil while there is none.
func KeepPodCliqueScale(desired, live *grovev1alpha1.PodClique) {
	if live != nil {
		keepScale(desired, &desired.Spec.Replicas, live, live.Spec.Replicas)
	}
}

// KeepScalingGroupScale does the same for a PodCliqueScalingGroup.
func KeepScalingGroupScale(desired, live *grovev1alpha1.PodCliqueScalingGroup) {
	if live != nil {
		keepScale(desired, &desired.Spec.Replicas, live, live.Spec.Replicas)
	}
}

// keepScale keeps the live replicas as long as the template asks for the same number as when the object was last written:
// another number is a scale. The write is then bound to the version that the number was read from, so that a scale which
// comes in between is a conflict and not undone.
func keepScale(desired client.Object, replicas *int32, live client.Object, liveReplicas int32) {
	const annotation = grovev1alpha1.AnnotationTemplateReplicas
	if desired.GetAnnotations()[annotation] != live.GetAnnotations()[annotation] {
		return
	}
	*replicas = liveReplicas
	desired.SetResourceVersion(live.GetResourceVersion())
}

package children

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// KeepPodCliqueScale keeps the replicas of the live PodClique if it was scaled. Live is nil if there is none.
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

// keepScale keeps the live replicas as long as the template has the same number as when the object was last written:
// another live number comes from a scale of the object. The write is bound to the resource version of the live
// object, so that a scale in between causes a conflict and is not undone.
func keepScale(desired client.Object, replicas *int32, live client.Object, liveReplicas int32) {
	const annotation = grovev1alpha1.AnnotationTemplateReplicas
	if desired.GetAnnotations()[annotation] != live.GetAnnotations()[annotation] {
		return
	}
	*replicas = liveReplicas
	desired.SetResourceVersion(live.GetResourceVersion())
}

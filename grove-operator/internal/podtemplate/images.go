package podtemplate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// NewImages are the images, by container, that make a pod of another template equal to one of the clique's current
// template. ok is false if more than images differs, also if the pod's images were changed by hand, and if a kubelet
// would not do what a new pod does: it runs no init container a second time, and restarts an ended container only if
// the pod's restartPolicy is Always.
func NewImages(
	set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec, pod *corev1.Pod,
) (images map[string]string, ok bool) {
	before, images := clique.DeepCopy(), map[string]string{}
	spec := &before.Spec.PodSpec
	if spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyAlways {
		return nil, false
	}
	for i := range spec.InitContainers {
		name := spec.InitContainers[i].Name
		alike := putBack(&spec.InitContainers[i], pod.Spec.InitContainers, images)
		if !alike || images[name] != "" && !isSidecar(spec.InitContainers[i]) {
			return nil, false
		}
	}
	for i := range spec.Containers {
		if !putBack(&spec.Containers[i], pod.Spec.Containers, images) {
			return nil, false
		}
	}
	// With the pod's own images, the template must be the one from which the pod was made.
	return images, slices.Contains(KnownHashes(set, before), pod.Labels[grovev1alpha1.LabelPodTemplateHash])
}

// putBack sets a container's image in a template to the one in a pod, and records the new one if it differs. It reports
// false if the pod has no such container, or if another image has another pull policy, which a pod cannot change.
func putBack(container *corev1.Container, existing []corev1.Container, images map[string]string) bool {
	i := slices.IndexFunc(existing, func(other corev1.Container) bool { return other.Name == container.Name })
	if i < 0 {
		return false
	}
	image := existing[i].Image
	if image == container.Image {
		return true
	}
	samePolicy := container.ImagePullPolicy != "" || defaultPullPolicy(image) == defaultPullPolicy(container.Image)
	images[container.Name], container.Image = container.Image, image
	return samePolicy
}

func isSidecar(container corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

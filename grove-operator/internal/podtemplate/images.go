package podtemplate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// NewImages are the images, by container, with which a pod of another template is as if it were made from the one that
// the clique has now. ok is false where more than images differs, also where somebody else has changed the pod's, and
// where a kubelet would not do what a new pod does: it runs no init container a second time, and restarts what has
// ended only if the pod's restartPolicy is Always.
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
	// With the images that the pod has, the template must be the one that the pod was made from.
	return images, slices.Contains(KnownHashes(set, before), pod.Labels[grovev1alpha1.LabelPodTemplateHash])
}

// putBack gives a container of a template the image that a pod has, and notes the new one if it is another. It reports
// false if the pod has no such container, or if another image is pulled by another policy, which a pod cannot change.
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

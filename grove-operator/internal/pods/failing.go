package pods

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Failure says why a pod with a node is not ready, and will not be by itself.
type Failure struct {
	// Reason is one of the condition PodsFailing.
	Reason string
	// Message names the container. It stays the same while a kubelet tries again.
	Message string
}

// Reasons of waiting containers, as kubelets write them. Those of an image alternate while the pull is tried again.
var (
	imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
		"ImageInspectError"}
	createReasons = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)

// Failing returns the failure of the first container of a pod that cannot run; nil if none is known to fail.
func Failing(pod *corev1.Pod) *Failure {
	if Ready(pod) {
		return nil
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if failure := failing(&container, formerContainers(pod)[container.Name]); failure != nil {
			return failure
		}
	}
	return nil
}

// failing checks one container. If the former container ended because its image was changed, that is no failure.
func failing(container *corev1.ContainerStatus, former formerContainer) *Failure {
	waiting, ended := container.State.Waiting, container.State.Terminated
	if ended == nil {
		ended = container.LastTerminationState.Terminated
	}
	if ended != nil && ended.ContainerID != "" && ended.ContainerID == former.ContainerID {
		ended = nil
	}
	switch {
	case container.Ready:
		return nil
	case waiting != nil && slices.Contains(imageReasons, waiting.Reason):
		return &Failure{
			Reason:  grovev1alpha1.ReasonImageNotPulled,
			Message: fmt.Sprintf("the image %s of container %s cannot be pulled", container.Image, container.Name),
		}
	case waiting != nil && slices.Contains(createReasons, waiting.Reason):
		return &Failure{
			Reason:  grovev1alpha1.ReasonContainerNotCreated,
			Message: fmt.Sprintf("container %s cannot be made: %s", container.Name, waiting.Message),
		}
	case ended != nil && container.RestartCount > 0:
		return &Failure{
			Reason: grovev1alpha1.ReasonContainerEnds,
			Message: fmt.Sprintf("container %s ended with exit code %d (%s) and was started again", container.Name,
				ended.ExitCode, ended.Reason),
		}
	}
	return nil
}

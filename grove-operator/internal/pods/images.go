package pods

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// ImageUpdate gives a pod other images. The pod keeps its node and its address, and its kubelet replaces the
// containers.
type ImageUpdate struct {
	Pod *corev1.Pod
	// Images are the new ones, by the names of containers and sidecars.
	Images map[string]string
	// Hash is that of the template that the pod has then.
	Hash string
}

// Patch is the update as a strategic merge patch of the pod as it was seen: a pod that has changed since is not
// touched. What the pod's containers do now is noted with it, in one write.
func (u ImageUpdate) Patch() []byte {
	var note any // Null takes an earlier note away.
	if former := u.former(); len(former) > 0 {
		note = written(former)
	}
	return []byte(written(map[string]any{
		"metadata": map[string]any{
			"uid": u.Pod.UID, "resourceVersion": u.Pod.ResourceVersion,
			"labels":      map[string]string{grovev1alpha1.LabelPodTemplateHash: u.Hash},
			"annotations": map[string]any{grovev1alpha1.AnnotationFormerContainers: note},
		},
		"spec": map[string]any{
			"initContainers": u.changed(u.Pod.Spec.InitContainers), "containers": u.changed(u.Pod.Spec.Containers),
		},
	}))
}

func (u ImageUpdate) changed(containers []corev1.Container) []map[string]string {
	changed := []map[string]string{}
	for i := range containers {
		if image, ok := u.Images[containers[i].Name]; ok {
			changed = append(changed, map[string]string{"name": containers[i].Name, "image": image})
		}
	}
	return changed
}

// formerContainer is a container that ran when the image of its name was changed.
type formerContainer struct {
	ContainerID string `json:"containerID"`
	// Image is the one that the container was started with.
	Image string `json:"image"`
}

// former are the containers that a kubelet has to replace. One that is to be replaced already was started with an image
// before the pod's; if that is the new one again, the kubelet may never hear of the one in between, and the container
// may stay.
func (u ImageUpdate) former() map[string]formerContainer {
	former := map[string]formerContainer{}
	for name, noted := range formerContainers(u.Pod) {
		if runs(u.Pod, name, noted) {
			former[name] = noted
		}
	}
	for _, container := range slices.Concat(u.Pod.Spec.InitContainers, u.Pod.Spec.Containers) {
		status := containerStatus(u.Pod, container.Name)
		if u.Images[container.Name] == "" || status == nil || status.ContainerID == "" {
			continue // It has not been started.
		}
		if _, noted := former[container.Name]; !noted {
			former[container.Name] = formerContainer{ContainerID: status.ContainerID, Image: container.Image}
		}
	}
	maps.DeleteFunc(former, func(name string, container formerContainer) bool {
		return u.Images[name] == container.Image
	})
	return former
}

// formerContainers are those that were noted when a pod's images were changed; none for a pod that has those it was
// made with.
func formerContainers(pod *corev1.Pod) map[string]formerContainer {
	noted, ok := pod.Annotations[grovev1alpha1.AnnotationFormerContainers]
	if !ok {
		return nil
	}
	var former map[string]formerContainer
	if json.Unmarshal([]byte(noted), &former) != nil {
		return nil // Somebody else wrote it.
	}
	return former
}

// ImagesUpdated reports whether a pod has got other images in place.
func ImagesUpdated(pod *corev1.Pod) bool {
	return len(formerContainers(pod)) > 0
}

// runsFormerImage reports whether a kubelet has yet to replace a container of a pod, which says that it is ready until
// then.
func runsFormerImage(pod *corev1.Pod) bool {
	for name, former := range formerContainers(pod) {
		if runs(pod, name, former) {
			return true
		}
	}
	return false
}

func runs(pod *corev1.Pod, name string, container formerContainer) bool {
	status := containerStatus(pod, name)
	return status != nil && status.ContainerID == container.ContainerID
}

func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return &statuses[i]
			}
		}
	}
	return nil
}

func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("writing an image update: %v", err)) // Maps of strings always marshal.
	}
	return string(text)
}

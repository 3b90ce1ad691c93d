package pods

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// ImageUpdate changes the images of a pod. The pod keeps its node and its address, and its kubelet replaces the
// containers.
type ImageUpdate struct {
	Pod *corev1.Pod
	// Images are the new ones, by the names of containers and sidecars.
	Images map[string]string
	// Hash of the template that the pod has after the update.
	Hash string
}

// Patch is the update as a strategic merge patch of the pod as it was seen: a pod that has changed since is not
// patched. The present state of the pod's containers is recorded with it, in one write.
func (u ImageUpdate) Patch() []byte {
	var note any // Null removes an earlier record.
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

// formerContainer is a container that ran when its image was changed.
type formerContainer struct {
	ContainerID string `json:"containerID"`
	// Image with which the container was started.
	Image string `json:"image"`
}

// former are the containers that a kubelet has to replace. A container that is to be replaced already was started with
// an earlier image than the pod's. If the new image is that earlier one again, the kubelet may never see the one in
// between, and the container may stay.
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

// formerContainers are the containers as recorded when a pod's images were changed; none for a pod with its first
// images.
func formerContainers(pod *corev1.Pod) map[string]formerContainer {
	noted, ok := pod.Annotations[grovev1alpha1.AnnotationFormerContainers]
	if !ok {
		return nil
	}
	var former map[string]formerContainer
	if json.Unmarshal([]byte(noted), &former) != nil {
		return nil // The operator did not write it.
	}
	return former
}

// ImagesUpdated reports whether the images of a pod were changed in place.
func ImagesUpdated(pod *corev1.Pod) bool {
	return len(formerContainers(pod)) > 0
}

// runsFormerImage reports whether a kubelet has yet to replace a container of a pod. Until then the pod's status still
// says that it is ready.
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
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses,
		pod.Status.ContainerStatuses} {
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

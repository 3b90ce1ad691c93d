package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// slimOwner keeps the fields of an owner that can decide about groups: most of an owner is the spec of its pods, and
// once a kind is watched, all its objects are cached, also the ones that other schedulers serve. A deletion may come
// as a tombstone, which stays as it is.
func slimOwner(object any) (any, error) {
	metadata, ok := object.(metav1.Object)
	if !ok {
		return object, nil
	}
	metadata.SetManagedFields(nil)
	if annotations := metadata.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		metadata.SetAnnotations(annotations)
	}
	if whole, ok := object.(*unstructured.Unstructured); ok {
		dropPodSpecs(whole.Object)
	}
	return object, nil
}

// dropPodSpecs empties every object that has containers: groupers read only the metadata of a pod template.
func dropPodSpecs(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, podSpec := value["containers"].([]any); podSpec {
			clear(value)
			return
		}
		for _, field := range value {
			dropPodSpecs(field)
		}
	case []any:
		for _, item := range value {
			dropPodSpecs(item)
		}
	}
}

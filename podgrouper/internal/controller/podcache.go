package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/podgrouper/internal/podgroups"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// podMetadata is the form in which pods are watched and read: their metadata alone decides about their groups.
func podMetadata() *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(podKind)
	return metadata
}

// cachedPods are the pods of our scheduler that have not ended. Values that siblings share are stored once.
func cachedPods() cache.ByObject {
	return cache.ByObject{
		Field: fields.AndSelectors(
			fields.OneTermEqualSelector("spec.schedulerName", kai.SchedulerName),
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		),
		Transform:             newSiblings().slim,
		UnsafeDisableDeepCopy: new(true),
	}
}

// asPod is a pod from the cache. The cache has only pods of our scheduler.
func asPod(metadata *metav1.PartialObjectMetadata) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: metadata.TypeMeta, ObjectMeta: metadata.ObjectMeta}
	pod.Spec.SchedulerName = kai.SchedulerName
	return pod
}

// listPods lists pods from the cache.
func listPods(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]*corev1.Pod, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = asPod(&list.Items[i])
	}
	return pods, nil
}

// siblings shares the labels, annotations and owners of an earlier pod with later pods that have equal ones. Objects
// of the cache are never changed.
type siblings struct {
	mutex  sync.Mutex
	texts  map[string]map[string]string
	owners map[string][]metav1.OwnerReference
}

// mostLent is how many values of each sort are remembered for later pods. Siblings come one after the other.
const mostLent = 1024

func newSiblings() *siblings {
	return &siblings{texts: map[string]map[string]string{}, owners: map[string][]metav1.OwnerReference{}}
}

// slim keeps the metadata of a pod that decides about its group. A deletion may come as a tombstone, which stays as it
// is.
func (s *siblings) slim(object any) (any, error) {
	pod, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	pod.ManagedFields = podgroups.SlimManagedFields(pod)
	delete(pod.Annotations, corev1.LastAppliedConfigAnnotation)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	pod.Labels = lend(s.texts, textKey(pod.Labels), pod.Labels)
	pod.Annotations = lend(s.texts, textKey(pod.Annotations), pod.Annotations)
	pod.OwnerReferences = lend(s.owners, ownersKey(pod.OwnerReferences), pod.OwnerReferences)
	return pod, nil
}

// lend returns the value that is remembered for the key, or remembers this one.
func lend[T any](known map[string]T, key string, value T) T {
	if earlier, found := known[key]; found {
		return earlier
	}
	if len(known) >= mostLent {
		clear(known)
	}
	known[key] = value
	return value
}

func textKey(texts map[string]string) string {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		key.WriteString(name + "\x00" + texts[name] + "\x00")
	}
	return key.String()
}

func ownersKey(references []metav1.OwnerReference) string {
	var key strings.Builder
	for _, reference := range references {
		fmt.Fprintf(&key, "%s\x00%s\x00%s\x00%s\x00%t%t%t\x00", reference.APIVersion, reference.Kind, reference.Name,
			reference.UID,
			ptr.Deref(reference.Controller, false), reference.BlockOwnerDeletion != nil,
			ptr.Deref(reference.BlockOwnerDeletion, false))
	}
	return key.String()
}

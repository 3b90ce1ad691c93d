package ganglister

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// NewFinished returns a cache of the pods that have done their work. kube-scheduler's own cache drops a pod as soon
// as it has ended: the gang of a Job would seem to lose one pod after the other, and could be stopped for that. The
// cache keeps what the transform leaves: what names a pod's gang and group, and no more.
func NewFinished(client kubernetes.Interface, transform cache.TransformFunc) (cache.SharedIndexInformer, error) {
	succeeded := fields.OneTermEqualSelector("status.phase", string(corev1.PodSucceeded)).String()
	finished := coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, 0, cache.Indexers{},
		func(options *metav1.ListOptions) {
			options.FieldSelector = succeeded
		})
	if err := finished.SetTransform(transform); err != nil {
		return nil, fmt.Errorf("trimming finished pods: %w", err)
	}
	if err := Index(finished); err != nil {
		return nil, fmt.Errorf("indexing finished pods by gang: %w", err)
	}
	return finished, nil
}

// MembershipOf is a pod without all that does not tell to which gang or controller it belongs, where it was, and how it
// ended.
func MembershipOf(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences,
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName, SchedulerName: pod.Spec.SchedulerName},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message},
	}, nil
}

// AsFinished returns a pod that kube-scheduler's cache has dropped, as it was last known, as one that has done its work
// if it has.
func (l *Lister) AsFinished(pod *corev1.Pod) *corev1.Pod {
	found, exists, err := l.Finished.GetStore().Get(pod)
	if err != nil || !exists || found.(*corev1.Pod).UID != pod.UID {
		return pod
	}
	finished := pod.DeepCopy()
	finished.Status.Phase = found.(*corev1.Pod).Status.Phase
	return finished
}

// WithFinished adds to the pods of a gang the completed ones, and one for each completed pod that is deleted. The two
// caches are filled by separate watches: a pod that both have for a moment has finished, and counts once.
func (l *Lister) WithFinished(key gang.Key, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	found, err := l.Finished.GetIndexer().ByIndex(gangIndex, key.String())
	if err != nil {
		return nil, fmt.Errorf("finding the finished pods of %s: %w", key, err)
	}
	done := map[types.UID]*corev1.Pod{}
	for _, object := range found {
		if pod := object.(*corev1.Pod); pod.Status.Phase == corev1.PodSucceeded {
			done[pod.UID] = pod
		}
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return done[pod.UID] != nil })
	pods = slices.AppendSeq(pods, maps.Values(done))
	_, gone := l.Unshown(key)
	for leaf, count := range gone {
		pods = append(pods, slices.Repeat([]*corev1.Pod{ended(key, leaf)}, count)...)
	}
	return pods, nil
}

// ended stands for a pod that has done its work and is gone. No object has such a name.
func ended(key gang.Key, leaf string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: "ended pod",
		Labels:      map[string]string{kai.LabelSubGroupName: leaf},
		Annotations: map[string]string{scheduling.AnnotationPodGroupName: key.Name},
	}}
	pod.Status.Phase = corev1.PodSucceeded
	return pod
}

// WithoutManagedFields is a transform of a cache. kube-scheduler does the same with its pods.
func WithoutManagedFields(object any) (any, error) {
	if read, ok := object.(metav1.Object); ok {
		read.SetManagedFields(nil)
	}
	return object, nil
}

package gangfailures

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/lru"
)

const (
	// writers is how many conditions are written at the same time.
	writers = 16
	// soonest and latest bound how long a condition waits that could not be written: mostly until the cache has the pod
	// as it is.
	soonest, latest = 10 * time.Millisecond, 10 * time.Second
)

// Conditions writes why pods wait, beside the scheduling loop: that would wait for the API server once for each pod of
// a gang that does not fit. Of what is to be said of a pod the newest is written. It is written only if the pod is as
// it was when that was decided, so that a pod which has been bound meanwhile is not said to wait.
type Conditions struct {
	client kubernetes.Interface
	pods   corelisters.PodLister
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]

	// wanted has, by the name of a pod, what is to be said of it.
	wanted sync.Map
	// written has the last write of each pod by its UID, for the moment until the cache has it.
	written *lru.Cache
}

// wanted is the condition that a pod is to have.
type wanted struct {
	uid       types.UID
	condition corev1.PodCondition
}

// written is what matters of a pod as a write has left it, and the version that it had before.
type written struct {
	over string
	pod  *corev1.Pod
}

func writtenOver(over string, pod *corev1.Pod) written {
	return written{over: over, pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: pod.UID, ResourceVersion: pod.ResourceVersion},
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName}, Status: pod.Status,
	}}
}

// NewConditions returns what writes with a client; the lister is that of a cache of all pods.
func NewConditions(client kubernetes.Interface, pods corelisters.PodLister) *Conditions {
	return &Conditions{
		client: client, pods: pods, written: lru.New(remembered),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](soonest, latest)),
	}
}

// Run writes until the context ends.
func (c *Conditions) Run(ctx context.Context) {
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	all.Wait()
}

// Set has a condition written to a pod that waits.
func (c *Conditions) Set(pod *corev1.Pod, condition *corev1.PodCondition) {
	key := keyOf(pod)
	c.wanted.Store(key, &wanted{uid: pod.UID, condition: *condition})
	c.queue.Add(key)
}

// Idle reports whether nothing is left to be written.
func (c *Conditions) Idle() bool {
	for range c.wanted.Range {
		return false
	}
	return true
}

func keyOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// next writes one condition, and reports whether there may be further ones.
func (c *Conditions) next(ctx context.Context) bool {
	key, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(key)
	next, waits := c.wanted.Load(key)
	if !waits {
		return true
	}
	if err := c.write(ctx, key, next.(*wanted)); err != nil {
		if !apierrors.IsConflict(err) {
			klog.FromContext(ctx).Error(err, "Writing why a pod waits, to be tried again", "pod", key)
		}
		c.queue.AddRateLimited(key)
		return true
	}
	c.queue.Forget(key)
	c.wanted.CompareAndDelete(key, next) // If there is something newer, the key is in the queue again.
	return true
}

// write writes the condition of a pod, if the pod still waits and has another one. Nothing is written to a pod that is
// gone.
func (c *Conditions) write(ctx context.Context, key types.NamespacedName, next *wanted) error {
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	over := pod.ResourceVersion
	if last, ok := c.written.Get(next.uid); ok && last.(written).over == over {
		pod = last.(written).pod
	}
	if pod.UID != next.uid || pod.Spec.NodeName != "" {
		return nil
	}
	status := pod.Status.DeepCopy()
	if !podutil.UpdatePodCondition(status, &next.condition) {
		return nil
	}
	patch, err := patchOf(pod, status)
	if err != nil {
		return err
	}
	after, err := c.client.CoreV1().Pods(key.Namespace).Patch(ctx, key.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		c.written.Add(next.uid, writtenOver(over, after))
	}
	return err
}

// patchOf returns what makes the status another one, if the pod is the one that it was and has not changed.
func patchOf(pod *corev1.Pod, status *corev1.PodStatus) ([]byte, error) {
	before, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(
		corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID, ResourceVersion: pod.ResourceVersion}, Status: *status})
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
}

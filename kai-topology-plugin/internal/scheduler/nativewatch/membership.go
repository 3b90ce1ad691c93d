package nativewatch

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// membership brings pods to their gang that were read before all groups above them were. A pod gets its gang when it is
// read, so that it is written once more: its condition says that it waited.
type membership struct {
	ctx     context.Context
	client  kubernetes.Interface
	forest  *nativegroups.Forest
	pods    cache.SharedIndexInformer
	leading <-chan struct{}
}

// members has the pods of kube-scheduler's cache join their gangs. Pods are written once leading is closed.
func (w *Watch) members(
	ctx context.Context, client kubernetes.Interface, pods cache.SharedIndexInformer, leading <-chan struct{},
) error {
	if err := pods.SetTransform(w.Joining(ganglister.WithoutManagedFields)); err != nil {
		return fmt.Errorf("having pods join their gangs: %w", err)
	}
	if err := ganglister.Index(pods); err != nil {
		return fmt.Errorf("indexing pods by gang: %w", err)
	}
	m := &membership{ctx: ctx, client: client, forest: &w.forest, pods: pods, leading: leading}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    m.check,
		UpdateFunc: func(_, object any) { m.check(object) },
	}); err != nil {
		return fmt.Errorf("following pods: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.membership = m
	go m.begin()
	return nil
}

// begin looks at all pods as soon as the process leads.
func (m *membership) begin() {
	select {
	case <-m.leading:
	case <-m.ctx.Done():
		return
	}
	for _, object := range m.pods.GetStore().List() {
		m.check(object)
	}
}

// moved looks at the pods that were read as members of a gang which has become part of another one.
func (m *membership) moved(root nativegroups.Ref) {
	if m == nil {
		return
	}
	found, err := ganglister.ShownIn(m.pods.GetIndexer(), types.NamespacedName{
		Namespace: root.Namespace, Name: root.GangName(),
	})
	if err != nil {
		return // The index exists: see members.
	}
	go func() { // Others are not to wait for the API server.
		for _, pod := range found {
			m.check(pod)
		}
	}()
}

// check writes a pod that waits as a member of another gang than its own.
func (m *membership) check(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.SchedulingGroup == nil || pod.Spec.NodeName != "" || !m.leads() {
		return
	}
	own := m.forest.Join(pod).Annotations[scheduling.AnnotationPodGroupName]
	if own == pod.Annotations[scheduling.AnnotationPodGroupName] {
		return
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: scheduling.PodReasonWaitingForGang,
			Message: "is placed with " + own, LastTransitionTime: metav1.Now(),
		}}},
	})
	if err == nil {
		_, err = m.client.CoreV1().Pods(pod.Namespace).Patch(m.ctx, pod.Name, types.StrategicMergePatchType, body,
			metav1.PatchOptions{}, "status")
	}
	if err != nil {
		klog.FromContext(m.ctx).Error(err, "Bringing a pod to its gang", "pod", klog.KObj(pod), "gang", own)
	}
}

func (m *membership) leads() bool {
	select {
	case <-m.leading:
		return true
	default:
		return false
	}
}

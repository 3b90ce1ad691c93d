package plugin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	backend "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// filtered is a queue that notes which pods it is to look at.
type filtered struct {
	backend.SchedulingQueue
	looksAt backend.PreEnqueueCheck
}

func (f *filtered) MoveAllToActiveOrBackoffQueue(
	_ klog.Logger, _ fwk.ClusterEvent, _, _ any, looksAt backend.PreEnqueueCheck,
) {
	f.looksAt = looksAt
}

func TestTheQueuePassesOverGangsThatAnEventDoesNotHelp(t *testing.T) {
	asker, sibling := newPod("gang", "asker"), newPod("gang", "sibling")
	plain, foreign := newPod("", "plain"), newPod("gang", "foreign")
	foreign.Spec.SchedulerName = "another"
	bench := newBench(t, newNodes(1), []*corev1.Pod{asker, sibling, plain}, podGroup("gang", 2))
	_, status := bench.schedule(t, asker)
	require.Equal(t, fwk.Unschedulable, status.Code(), "the gang fits: %v", status)
	on := newPod("", "on")
	on.Spec.NodeName = "n0"
	node := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAllocatable}
	claim := fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Delete}
	none := func(*corev1.Pod) bool { return false }
	for name, test := range map[string]struct {
		event         fwk.ClusterEvent
		before, after any
		concerns      backend.PreEnqueueCheck
		want          []*corev1.Pod
	}{
		"a pod leaves":     {framework.EventAssignedPodDelete, on, nil, nil, []*corev1.Pod{asker, plain, foreign}},
		"a pod comes":      {framework.EventAssignedPodAdd, nil, on, nil, []*corev1.Pod{plain, foreign}},
		"a node shrinks":   {node, changed(), changed(withCPU("500m")), nil, []*corev1.Pod{plain, foreign}},
		"a node grows":     {node, changed(), changed(withCPU("2")), nil, []*corev1.Pod{asker, plain, foreign}},
		"a status changes": {framework.EventAssignedPodUpdate, on, on, nil, nil},
		"nobody may go":    {node, changed(), changed(withCPU("2")), none, nil},
		"we have no hints": {claim, nil, nil, nil, []*corev1.Pod{asker, sibling, plain, foreign}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &filtered{}
			bench.plugin.profiles.queue(inner).MoveAllToActiveOrBackoffQueue(klog.Background(), test.event,
				test.before, test.after, test.concerns)
			for _, pod := range []*corev1.Pod{asker, sibling, plain, foreign} {
				looks := inner.looksAt != nil && inner.looksAt(pod)
				assert.Equal(t, slices.Contains(test.want, pod), looks, "%s is looked at", pod.Name)
			}
		})
	}
}

// A watch that was interrupted shows the successor of a pod as its update.
func TestAPodOfTheSameNameDoesNotTakeItsPlaceInTheQueue(t *testing.T) {
	first, next := newPod("gang", "asker"), newPod("", "asker")
	next.UID, next.ResourceVersion = "next", "2"
	next.OwnerReferences = []metav1.OwnerReference{{Name: "owner", Controller: new(true)}}
	bench := newBench(t, newNodes(1), []*corev1.Pod{first}, podGroup("gang", 1))
	queue := bench.plugin.profiles.queue(backend.NewTestQueue(t.Context(), bench.plugin.Less,
		backend.WithPreEnqueuePluginMap(map[string]map[string]fwk.PreEnqueuePlugin{
			first.Spec.SchedulerName: {Name: bench.plugin}})))
	queue.Add(t.Context(), first)
	require.Len(t, queue.PodsInActiveQ(), 1, "the first pod is held")
	queue.Update(t.Context(), first, next)
	assert.Empty(t, queue.PodsInActiveQ(), "a pod is tried before it is grouped")
	waiting, _ := queue.PendingPods()
	require.Len(t, waiting, 1, "waiting pods")
	assert.Equal(t, next.UID, waiting[0].UID)
}

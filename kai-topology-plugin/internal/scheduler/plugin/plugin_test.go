package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

func TestAGangIsBoundWhenItsLastPodStands(t *testing.T) {
	a, b := newPod("gang", "a"), newPod("gang", "b")
	bench := newBench(t, newNodes(2), []*corev1.Pod{a, b}, podGroup("gang", 2))

	first, status := bench.schedule(t, a)
	require.True(t, status.IsWait(), "the first pod does not wait: %v", status)
	assert.True(t, bench.activator.called("b"), "the first pod calls the others of its gang, and only them")
	assert.False(t, bench.activator.called("a"), "the first pod calls the others of its gang, and only them")
	second, status := bench.schedule(t, b)
	require.True(t, status.IsSuccess(), "the last pod is on %q like the first, or not let go: %v", second, status)
	require.NotEqual(t, second, first, "the last pod is on %q like the first, or not let go: %v", second, status)
	status = bench.waits(t, a)
	assert.True(t, status.IsSuccess(), "the first pod is not let go: %v", status)
}

func TestPlannedRoomIsKeptFromOthersUntilThePlanEnds(t *testing.T) {
	a, b, plain := newPod("gang", "a"), newPod("gang", "b"), newPod("", "plain")
	bench := newBench(t, newNodes(3), []*corev1.Pod{a, b, plain}, podGroup("gang", 2))
	taken, _ := bench.schedule(t, a)

	free, status := bench.feasible(t, framework.NewCycleState(), plain)
	if !status.IsSuccess() || len(free) != 2 {
		// The snapshot does not show a on its node, so of the three nodes only the one that is planned for b is
		// missing.
		t.Fatalf("a plain pod may use %v: %v", free, status)
	}
	bench.plugin.effects.do(
		bench.plugin.gangs.Break(gang.Key{Namespace: "default", Name: "gang"}, gangstate.PodLost, "test"))
	assert.True(t, bench.activator.called("plain"), "a pod that was turned away is not called when the plan ends")
	assert.False(t, bench.waits(t, a).IsSuccess(), "a pod of a broken plan is let go")
	bench.unreserve(t, a, taken)
	free, _ = bench.feasible(t, framework.NewCycleState(), plain)
	assert.Len(t, free, 3, "after the plan has ended a plain pod may use")
}

func TestPlainPodsAreNotLookedAtWithoutPlans(t *testing.T) {
	plain := newPod("", "plain")
	bench := newBench(t, newNodes(1), []*corev1.Pod{plain})
	state := framework.NewCycleState()
	_, status := bench.feasible(t, state, plain)
	require.True(t, status.IsSuccess(), "%v", status)
	assert.True(t, state.GetSkipFilterPlugins().Has(Name), "Filter is not skipped for a plain pod")
	status = bench.plugin.PreEnqueue(t.Context(), plain)
	assert.True(t, status.IsSuccess(), "a plain pod is held: %v", status)
}

func TestAGangThatDoesNotFitIsSearchedForOnceARound(t *testing.T) {
	a, b, c := newPod("gang", "a"), newPod("gang", "b"), newPod("gang", "c")
	bench := newBench(t, newNodes(2), []*corev1.Pod{a, b, c}, podGroup("gang", 3))
	key := gang.Key{Namespace: "default", Name: "gang"}

	_, status := bench.schedule(t, a)
	require.Equal(t, fwk.Unschedulable, status.Code(), "the gang fits, or nobody says why not: %v", status)
	require.NotEmpty(t, status.Message(), "the gang fits, or nobody says why not: %v", status)
	answer := bench.plugin.gangs.View(key).Last
	for _, pod := range []*corev1.Pod{b, c} {
		if _, again := bench.schedule(t, pod); again.Message() != status.Message() {
			t.Errorf("pod %s is told %q, the first was told %q", pod.Name, again.Message(), status.Message())
		}
	}
	assert.Same(t, answer, bench.plugin.gangs.View(key).Last, "the other pods searched again")
	if _, again := bench.schedule(t, b); again.Message() != status.Message() || bench.plugin.gangs.View(key).Last != answer {
		t.Error("a pod that comes back, although nothing has happened, searched again")
	}
}

func TestAPodThatLosesItsNodeSendsTheOthersBack(t *testing.T) {
	a, b, c := newPod("gang", "a"), newPod("gang", "b"), newPod("gang", "c")
	bench := newBench(t, newNodes(3), []*corev1.Pod{a, b, c}, podGroup("gang", 3))
	onA, _ := bench.schedule(t, a)
	onB, _ := bench.schedule(t, b)

	bench.unreserve(t, a, onA)
	bench.unreserve(t, a, onA)
	require.False(t, bench.waits(t, b).IsSuccess(), "half a gang is let go")
	_, status := bench.schedule(t, c)
	assert.True(t, status.IsRejected(), "the gang is planned around a pod that is on its way back: %v", status)
	bench.unreserve(t, b, onB)
	for _, pod := range []*corev1.Pod{a, b} {
		_, status := bench.schedule(t, pod)
		assert.True(t, status.IsWait(), "pod %s is not planned again: %v", pod.Name, status)
	}
	_, status = bench.schedule(t, c)
	assert.True(t, status.IsSuccess(), "the gang is not bound in the end: %v", status)
}

func TestANodeThatRefusesBreaksThePlanWithoutPreemption(t *testing.T) {
	a, b := newPod("gang", "a"), newPod("gang", "b")
	bench := newBench(t, newNodes(2), []*corev1.Pod{a, b}, podGroup("gang", 2))
	onA, _ := bench.schedule(t, a)

	// The node that is planned for b is filled behind the scheduler's back.
	state := framework.NewCycleState()
	narrowed, status, _ := bench.RunPreFilterPlugins(t.Context(), state, b)
	require.True(t, status.IsSuccess(), "planned nodes of b: %v, %v", narrowed, status)
	require.Len(t, narrowed.NodeNames, 1, "planned nodes of b: %v, %v", narrowed, status)
	result, status := bench.RunPostFilterPlugins(t.Context(), state, b, framework.NewDefaultNodeToStatus())
	assert.NotEmpty(t, status.Message(), "kube-scheduler is left to say in its words what has happened")
	if status.Code() != fwk.UnschedulableAndUnresolvable || result != nil {
		t.Errorf("preemption for one pod of a gang is considered: %v, %v", result, status)
	}
	assert.False(t, bench.waits(t, a).IsSuccess(), "half a gang is let go")
	bench.unreserve(t, a, onA)
	assert.True(t, bench.activator.called("b"), "the pod does not try again")
	_, status = bench.schedule(t, a)
	assert.True(t, status.IsRejected(), "the other pods do not wait for the one that was refused: %v", status)
	_, status = bench.schedule(t, b)
	assert.True(t, status.IsWait(), "the pod that was refused does not plan anew: %v", status)
}

func TestQueueOrder(t *testing.T) {
	bench := newBench(t, newNodes(1), nil, podGroup("old", 1), podGroup("young", 1))
	queued := func(pod *corev1.Pod, priority int32) fwk.QueuedPodInfo {
		pod.Spec.Priority = &priority
		info, err := framework.NewPodInfo(pod)
		require.NoError(t, err)
		return &framework.QueuedPodInfo{PodInfo: info}
	}
	for name, test := range map[string]struct{ before, after fwk.QueuedPodInfo }{
		"higher priority goes first": {queued(newPod("", "z"), 2), queued(newPod("old", "a"), 1)},
		"of pods of a gang, too":     {queued(newPod("old", "z"), 2), queued(newPod("old", "a"), 1)},
		"pods of a gang go by name":  {queued(newPod("old", "a"), 1), queued(newPod("old", "b"), 1)},
		"gangs go by name at last":   {queued(newPod("old", "z"), 1), queued(newPod("young", "a"), 1)},
	} {
		assert.True(t, bench.plugin.Less(test.before, test.after), "%s: not so", name)
		assert.False(t, bench.plugin.Less(test.after, test.before), "%s: not so", name)
	}
}

// A gang with a deleted PodGroup has one place in the queue, however old its pods are: a pod that goes before one of
// them goes before all.
func TestPodsOfAGoneGangStayTogetherInTheQueue(t *testing.T) {
	bench := newBench(t, newNodes(1), nil)
	queued := func(name, gang string, age int64) fwk.QueuedPodInfo {
		pod := newPod(gang, name)
		pod.CreationTimestamp = metav1.Unix(age, 0)
		info, err := framework.NewPodInfo(pod)
		require.NoError(t, err)
		return &framework.QueuedPodInfo{PodInfo: info, Timestamp: pod.CreationTimestamp.Time}
	}
	a, b, plain := queued("a", "gone", 10), queued("b", "gone", 5), queued("plain", "", 7)
	assert.True(t, bench.plugin.Less(a, b), "pods of a gang don't go by name")
	less := bench.plugin.Less
	assert.Equal(t, less(b, plain), less(a, plain), "a pod goes between two of a gang")
	assert.Equal(t, less(plain, b), less(plain, a), "a pod goes between two of a gang")
}

// A profile names its filters only once all its plugins are made, ours among them.
func TestAnAnswerThatRestsOnOtherPodsDoesNotLast(t *testing.T) {
	a, repelling := newPod("gang", "a"), newPod("", "repelling")
	a.Labels = map[string]string{"app": "x"}
	repelling.Spec.NodeName = "n0"
	repelling.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, TopologyKey: "rack",
		}},
	}}
	bench := newBench(t, newNodes(2), []*corev1.Pod{a, repelling}, podGroup("gang", 1))
	_, status := bench.schedule(t, a)
	require.False(t, status.IsSuccess(), "the gang goes where another pod keeps it away")
	answer := bench.plugin.gangs.View(gang.Key{Namespace: "default", Name: "gang"}).Last
	assert.False(t, answer.Basis.Lasts(), "the answer is to hold until a node changes: %s", answer.Message)
}

func TestWhatAProfileIgnoresIsNotReserved(t *testing.T) {
	a, plain := newPod("gang", "a"), newPod("", "plain")
	for _, pod := range []*corev1.Pod{a, plain} {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"example.com/license": resource.MustParse("1")}
	}
	for name, ignored := range map[string]bool{"ignored": true, "counted": false} {
		t.Run(name, func(t *testing.T) {
			bench := benchWith(t, func(args *config.NodeResourcesFitArgs) {
				if ignored {
					args.IgnoredResources = []string{"example.com/license"}
				}
			}, newNodes(2), []*corev1.Pod{a, plain}, podGroup("gang", 1))
			_, status := bench.schedule(t, a)
			assert.Equal(t, ignored, status.IsSuccess(), "the gang: %v", status)
			node := kubeframework.BareNode(newNodes(1)[0])
			fits, err := bench.plugin.view.Resources().FitsBeside(plain, node, []*corev1.Pod{a})
			require.NoError(t, err)
			assert.Equal(t, ignored, fits)
		})
	}
}

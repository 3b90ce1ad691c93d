package plugin

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// tightAndRoomy are nodes with room for a pod each: one in rack tight, and four in rack roomy.
func tightAndRoomy() []*corev1.Node {
	made := newNodes(5)
	for i, node := range made {
		node.Labels["rack"] = "roomy"
		if i == 0 {
			node.Labels["rack"] = "tight"
		}
	}
	return made
}

// expectingFour is a gang in one rack that may start with any pod, and its topology.
func expectingFour() (*scheduling.PodGroup, *kai.Topology) {
	_, topology := inOneRackOf()
	gang := inOneRack(podGroup("gang", 1))
	gang.UID = "gang"
	gang.Annotations = map[string]string{scheduling.AnnotationExpectedPods: `{"":4}`}
	return gang, topology
}

// appears has the API server show a further pod.
func (b *bench) appears(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	require.NoError(t, b.plugin.lister.Members.Add(pod))
	b.plugin.effects.do(b.plugin.gangs.PodChanged(nil, pod, time.Now()))
}

// open returns how many nodes a plain pod may use. The snapshot shows none of the pods that were scheduled.
func (b *bench) open(t *testing.T, priority int32) int {
	t.Helper()
	plain := newPod("", "plain")
	plain.Spec.Priority = &priority
	free, _ := b.feasible(t, framework.NewCycleState(), plain)
	return len(free)
}

func TestTheFirstPodOfAGangGoesWhereTheOthersHaveRoom(t *testing.T) {
	for expected, want := range map[string]string{`{"":4}`: "roomy", `{"":1}`: "tight", "": "tight"} {
		gang, topology := expectingFour()
		gang.Annotations[scheduling.AnnotationExpectedPods] = expected
		first, all := newPod("gang", "a"), tightAndRoomy()
		bench := newBench(t, all, []*corev1.Pod{first}, gang, topology)
		node, status := bench.schedule(t, first)
		require.True(t, status.IsSuccess(), "with %q expected, the pod waits: %v", expected, status)
		for _, one := range all {
			if one.Name == node && one.Labels["rack"] != want {
				t.Errorf("with %q expected, the pod is in rack %s, want %s", expected, one.Labels["rack"], want)
			}
		}
	}
}

func TestRoomForPodsThatAreExpectedIsKeptFromEqualsForAMoment(t *testing.T) {
	gang, topology := expectingFour()
	first, rival := newPod("gang", "a"), newPod("rival", "r")
	bench := newBench(t, tightAndRoomy(), []*corev1.Pod{first, rival, newPod("rival", "s")}, gang, topology,
		inOneRack(podGroup("rival", 2)))
	bench.stopTheClock()
	_, status := bench.schedule(t, first)
	require.True(t, status.IsSuccess(), "%v", status)
	if open := bench.open(t, 0); open != 2 {
		t.Errorf(
			"a plain pod may use %d nodes, want that of rack tight and that of the first pod, which the snapshot does not show",
			open)
	}
	if _, status := bench.schedule(t, rival); status.IsSuccess() || status.IsWait() {
		t.Errorf("another gang has got the room: %v", status)
	}
	open := bench.open(t, 1)
	assert.Equal(t, 5, open, "a pod of higher priority may use %d nodes, want all", open)
}

func TestRoomForPodsThatDoNotComeIsGivenBack(t *testing.T) {
	gang, topology := expectingFour()
	first, rival := newPod("gang", "a"), newPod("rival", "r")
	bench := newBench(t, tightAndRoomy(), []*corev1.Pod{first, rival, newPod("rival", "s")}, gang, topology,
		inOneRack(podGroup("rival", 2)))
	bench.stopTheClock()
	_, status := bench.schedule(t, first)
	require.True(t, status.IsSuccess(), "%v", status)
	node, _ := bench.schedule(t, rival)
	require.Empty(t, node, "the other gang gets at once")
	bench.activator.reset()
	bench.plugin.effects.do(bench.plugin.gangs.Tick(time.Now().Add(2 * time.Hour)))
	assert.False(t, !bench.activator.called("r") && !bench.activator.called("s"),
		"the time is up, and the other gang is not called")
	open := bench.open(t, 0)
	assert.Equal(t, 5, open, "the time is up, and a plain pod may use %d nodes", open)
	_, status = bench.schedule(t, rival)
	assert.True(t, status.IsWait(), "the time is up, and the other gang has no place: %v", status)
}

func TestPodsThatWereExpectedTakeTheirRoom(t *testing.T) {
	expecting, topology := expectingFour()
	first := newPod("gang", "a")
	bench := newBench(t, tightAndRoomy(), []*corev1.Pod{first}, expecting, topology)
	bench.stopTheClock()
	place := func(pod *corev1.Pod) {
		t.Helper()
		node, status := bench.schedule(t, pod)
		require.True(t, status.IsSuccess(), "pod %s goes to %q: %v", pod.Name, node, status)
		require.NotEqual(t, "n0", node, "pod %s goes to %q: %v", pod.Name, node, status)
	}
	place(first)
	for came := 1; came <= 3; came++ {
		next := newPod("gang", fmt.Sprintf("b%d", came))
		bench.appears(t, next)
		place(next)
		kept := 0
		for _, pods := range bench.plugin.gangs.Reserved(gang.Rank{Gang: keyOf(newPod("rival", ""))}, nil).Room {
			kept += len(pods)
		}
		assert.Equal(t, 3-came, kept, "%d of 3 have come, and room is kept", came)
	}
}

func TestRoomIsGivenBackWhenAPodOfTheGangIsDeleted(t *testing.T) {
	gang, topology := expectingFour()
	first := newPod("gang", "a")
	bench := newBench(t, tightAndRoomy(), []*corev1.Pod{first}, gang, topology)
	bench.stopTheClock()
	_, status := bench.schedule(t, first)
	require.True(t, status.IsSuccess(), "%v", status)
	bench.plugin.podHandler().OnDelete(first)
	open := bench.open(t, 0)
	assert.Equal(t, 5, open, "the gang is gone, and a plain pod may use %d nodes", open)
}

func TestMoreThanWereExpectedWaitWhereTheOthersStand(t *testing.T) {
	gang, topology := expectingFour()
	var pods []*corev1.Pod
	for i := range 4 {
		standing := newPod("gang", fmt.Sprintf("a%d", i))
		standing.Spec.NodeName = fmt.Sprintf("n%d", i+1)
		pods = append(pods, standing)
	}
	fifth := newPod("gang", "fifth")
	bench := newBench(t, tightAndRoomy(), append(pods, fifth), gang, topology)
	_, status := bench.schedule(t, fifth)
	assert.False(t, status.IsSuccess(), "the pod is told: %v", status)
	assert.Contains(t, status.Message(), "rack roomy has no room for more", "the pod is told: %v", status)
}

func TestAGangIsPlannedAnewWhenOtherPodsAreExpectedAndNoneStands(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scheduling.PodGroup)
		stands bool
		called bool
	}{
		"other pods are expected": {
			change: func(g *scheduling.PodGroup) { g.Annotations[scheduling.AnnotationExpectedPods] = `{"":9}` }, called: true,
		},
		"the same": {change: func(g *scheduling.PodGroup) { g.Annotations["note"] = "x" }},
		"a pod stands, and the others must follow": {
			change: func(g *scheduling.PodGroup) { delete(g.Annotations, scheduling.AnnotationExpectedPods) }, stands: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			gang, topology := expectingFour()
			pods := []*corev1.Pod{newPod("gang", "a")}
			if c.stands {
				standing := newPod("gang", "s")
				standing.Spec.NodeName = "n1"
				pods = append(pods, standing)
			}
			bench := newBench(t, tightAndRoomy(), pods, gang, topology)
			changed := gang.DeepCopy()
			c.change(changed)
			bench.plugin.podGroupHandler().OnUpdate(gang, changed)
			assert.Equal(t, c.called, bench.activator.called("a"), "the gang is planned anew")
		})
	}
}

// Nothing is kept but in memory: what stands ties the others to its rack.
func TestAfterARestartTheOthersFollow(t *testing.T) {
	gang, topology := expectingFour()
	standing := newPod("gang", "a")
	standing.Spec.NodeName = "n2"
	next := newPod("gang", "b")
	next.CreationTimestamp = metav1.Now()
	bench := newBench(t, tightAndRoomy(), []*corev1.Pod{standing, next}, gang, topology)
	if node, status := bench.schedule(t, next); !status.IsSuccess() || node == "n0" {
		t.Errorf("the pod goes to %q: %v", node, status)
	}
}

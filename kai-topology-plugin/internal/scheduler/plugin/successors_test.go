package plugin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// owned is a pod that its owner makes again.
func owned(pod *corev1.Pod) *corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "owner", Controller: ptr.To(true)}}
	return pod
}

// fullBench has a gang of priority 1 on n0 and n1, which are full, another gang and a plain pod of some priority that
// wait, and a successor to come.
func fullBench(t *testing.T, priority int32) (b *bench, leaves, next, waits, plain *corev1.Pod) {
	t.Helper()
	leaves, stays := owned(ranked(1, "n0", newPod("gang", "a"))), owned(ranked(1, "n1", newPod("gang", "b")))
	next, waits, plain = owned(ranked(1, "", newPod("gang", "c"))), ranked(priority, "", newPod("other", "w")),
		ranked(priority, "", newPod("", "plain"))
	all := newNodes(2)
	b = newBench(t, all, []*corev1.Pod{leaves, stays, waits, plain}, podGroup("gang", 1), podGroup("other", 1))
	for _, node := range all {
		b.plugin.effects.do(b.plugin.gangs.NodeChanged(node.Name, node))
	}
	return b, leaves, next, waits, plain
}

// seats returns the seats in the status of the gang.
func (b *bench) seats(t *testing.T) []scheduling.SeatsStatus {
	t.Helper()
	podGroup, err := b.plugin.lister.PodGroup(theGang)
	require.NoError(t, err)
	return b.plugin.gangs.Status(podGroup).Seats
}

// goes takes a pod from its node in the snapshot, and word of it comes.
func (b *bench) goes(t *testing.T, pod *corev1.Pod, heard bool) {
	t.Helper()
	shown, err := b.SnapshotSharedLister().NodeInfos().Get(pod.Spec.NodeName)
	require.NoError(t, err)
	require.NoError(t, shown.RemovePod(klog.Background(), pod))
	if heard {
		b.hears(t, pod)
	}
}

// hears has word come that a pod is gone.
func (b *bench) hears(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	require.NoError(t, b.plugin.lister.Members.Delete(pod))
	b.plugin.podHandler().OnDelete(pod)
}

// forEachWaiting calls try with a gang's pod, and with a plain one, which wait for the room of a pod that leaves.
func forEachWaiting(t *testing.T, priority int32, try func(t *testing.T, bench *bench, leaves, next, waits *corev1.Pod)) {
	for name, waiting := range map[string]int{"a gang": 0, "a plain pod": 1} {
		t.Run(name, func(t *testing.T) {
			bench, leaves, next, waits, plain := fullBench(t, priority)
			try(t, bench, leaves, next, []*corev1.Pod{waits, plain}[waiting])
		})
	}
}

func TestTheRoomOfAPodThatLeftIsItsSuccessors(t *testing.T) {
	bench, leaves, next, waits, plain := fullBench(t, 1)
	bench.goes(t, leaves, true)
	for _, pod := range []*corev1.Pod{waits, plain} {
		if node, status := bench.schedule(t, pod); status.IsSuccess() && node != "" {
			t.Errorf("pod %s gets %s", pod.Name, node)
		}
	}
	bench.appears(t, next)
	if node, status := bench.schedule(t, next); node != "n0" || !status.IsSuccess() {
		t.Errorf("the successor is on %q: %v", node, status)
	}
}

// finishes has a pod do its work.
func (b *bench) finishes(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	finished := pod.DeepCopy()
	finished.Status.Phase = corev1.PodSucceeded
	require.NoError(t, b.plugin.lister.Finished.GetStore().Add(finished))
	b.plugin.finishedHandler().OnAdd(finished, false)
}

func TestAPodIsMadeAgainAfterTheOthersHaveDoneTheirWork(t *testing.T) {
	next, done := newPod("gang", "next"), newPod("gang", "done")
	bench := newBench(t, newNodes(1), []*corev1.Pod{next}, podGroup("gang", 2))
	bench.finishes(t, done)
	held := bench.plugin.PreEnqueue(t.Context(), next)
	require.True(t, held.IsSuccess(), "%v", held)
	if node, status := bench.schedule(t, next); node != "n0" || !status.IsSuccess() {
		t.Errorf("it is on %q: %v", node, status)
	}
}

func TestAPodThatHasDoneItsWorkLeavesNoSeat(t *testing.T) {
	ends := func(bench *bench, pod *corev1.Pod) { bench.finishes(t, pod) }
	// The cache of kube-scheduler shows it last as it ran, and drops it as if it were deleted.
	goes := func(bench *bench, pod *corev1.Pod) { bench.goes(t, pod, true) }
	for name, events := range map[string][]func(*bench, *corev1.Pod){
		"it is known first that it left its node":     {goes, ends},
		"it is known first that it has done its work": {ends, goes},
	} {
		t.Run(name, func(t *testing.T) {
			bench, leaves, _, waits, _ := fullBench(t, 1)
			for _, event := range events {
				event(bench, leaves)
			}
			assert.Empty(t, bench.seats(t), "seats are held")
			if node, status := bench.schedule(t, waits); node != "n0" || !status.IsSuccess() {
				t.Errorf("who waits is on %q: %v", node, status)
			}
		})
	}
}

func TestRoomIsFreeOnceNoPodComes(t *testing.T) {
	forEachWaiting(t, 1, func(t *testing.T, bench *bench, leaves, _, pod *corev1.Pod) {
		bench.goes(t, leaves, true)
		node, _ := bench.schedule(t, pod)
		require.Empty(t, node, "at once")
		bench.activator.reset()
		bench.plugin.effects.do(bench.plugin.gangs.Tick(time.Now().Add(time.Hour)))
		assert.True(t, bench.activator.called(pod.Name), "it is not called when the seat ends")
		if node, status := bench.schedule(t, pod); node != "n0" || !status.IsSuccess() {
			t.Errorf("it is on %q: %v", node, status)
		}
	})
}

// kube-scheduler hears of a pod that left before us: its room looks free, and is not held yet.
func TestRoomOfAPodIsNotGivenAwayBeforeTheEventOfItsEnd(t *testing.T) {
	forEachWaiting(t, 1, func(t *testing.T, bench *bench, leaves, next, pod *corev1.Pod) {
		bench.goes(t, leaves, false)
		bench.activator.reset()
		node, status := bench.schedule(t, pod)
		assert.Empty(t, node, "it gets %q: %v", node, status)
		assert.Contains(t, status.Message(), "left node n0", "it gets %q: %v", node, status)
		assert.True(t, bench.activator.called(pod.Name), "it is not tried again")
		bench.hears(t, leaves)
		node, _ = bench.schedule(t, pod)
		assert.Empty(t, node, "when word has come")
		bench.appears(t, next)
		if node, status := bench.schedule(t, next); node != "n0" || !status.IsSuccess() {
			t.Errorf("the successor is on %q: %v", node, status)
		}
	})
}

func TestAHigherPriorityTakesASeatAndItsGangGetsAnEvent(t *testing.T) {
	names := map[string]string{"w": "PodGroup default/other", "plain": "pod default/plain"}
	forEachWaiting(t, 2, func(t *testing.T, bench *bench, leaves, _, pod *corev1.Pod) {
		recorder := events.NewFakeRecorder(10)
		bench.plugin.effects.announcer = gangevents.New(recorder)
		bench.goes(t, leaves, true)
		if node, status := bench.schedule(t, pod); node != "n0" || !status.IsSuccess() {
			t.Fatalf("it is on %q: %v", node, status)
		}
		close(recorder.Events)
		var said []string
		for event := range recorder.Events {
			said = append(said, event)
		}
		const want = "Warning SeatTaken node n0 was held for the replacement of pod a and goes to "
		assert.Contains(t, said, want+names[pod.Name]+", which has a higher priority")
		assert.Empty(t, bench.seats(t), "still held")
	})
}

// A pod on its way out holds its room itself: what else is free on its node is not its successor's.
func TestASeatIsNotCountedTwiceWhileItsPodIsOnItsWayOut(t *testing.T) {
	bench, leaves, _, waits, plain := fullBench(t, 1)
	shown, err := bench.SnapshotSharedLister().NodeInfos().Get("n0")
	require.NoError(t, err)
	larger := shown.Node().DeepCopy()
	larger.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("2")
	shown.SetNode(larger)
	stopping := leaves.DeepCopy()
	stopping.DeletionTimestamp = ptr.To(metav1.Now())
	bench.plugin.podHandler().OnUpdate(leaves, stopping)
	if seats := bench.seats(t); len(seats) != 1 || seats[0].Until != nil {
		t.Fatalf("held: %+v", seats)
	}
	free, status := bench.feasible(t, framework.NewCycleState(), plain)
	assert.Equal(t, []string{"n0"}, free, "a plain pod may use %v: %v", free, status)
	if node, status := bench.schedule(t, waits); node != "n0" || !status.IsSuccess() {
		t.Errorf("the gang that waits is on %q: %v", node, status)
	}
}

func TestACordonEndsASeat(t *testing.T) {
	bench, leaves, _, _, _ := fullBench(t, 1)
	bench.goes(t, leaves, true)
	before := newNodes(1)[0]
	after := before.DeepCopy()
	bench.plugin.nodeHandler().OnUpdate(before, after)
	require.Len(t, bench.seats(t), 1, "no seat is held")
	after.Spec.Unschedulable = true
	bench.plugin.nodeHandler().OnUpdate(before, after)
	assert.Empty(t, bench.seats(t), "held on a node that is cordoned")
}

package plugin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var theGang = gang.Key{Namespace: "default", Name: "gang"}

// inOneRackOf is a gang of two pods that requires one rack, and its topology.
func inOneRackOf() (*scheduling.PodGroup, *kai.Topology) {
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "racks"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	return inOneRack(podGroup("gang", 2)), topology
}

func TestTheRoomOfAFailedBindingIsNotGivenAway(t *testing.T) {
	a, b, plain := newPod("gang", "a"), newPod("gang", "b"), newPod("", "plain")
	bench := newBench(t, newNodes(2), []*corev1.Pod{a, b, plain}, podGroup("gang", 2))
	onA, _ := bench.schedule(t, a)
	if _, status := bench.schedule(t, b); !status.IsSuccess() {
		t.Fatalf("the gang is not let go: %v", status)
	}
	bench.unreserve(t, a, onA)
	// The snapshot shows none of them: the node of b is free to it, that of a is not, nor would it be if it were shown.
	if free, _ := bench.feasible(t, framework.NewCycleState(), plain); len(free) != 1 || free[0] == onA {
		t.Errorf("a plain pod may use %v, the seat on %s included", free, onA)
	}
	again, status := bench.schedule(t, a)
	assert.Equal(t, onA, again, "the pod goes to %q instead of %q, or waits there: %v", again, onA, status)
	assert.True(t, status.IsSuccess(), "the pod goes to %q instead of %q, or waits there: %v", again, onA, status)
}

// The gang needs two pods of three. One of the two is being bound and the binding of the other has failed when the
// third one, which comes before it by its name, is planned.
func TestAPodAboveTheMinimumLeavesTheSeatOfItsSiblingAlone(t *testing.T) {
	b, c, above := newPod("gang", "b"), newPod("gang", "c"), newPod("gang", "a")
	bench := newBench(t, newNodes(2), []*corev1.Pod{b, c}, podGroup("gang", 2))
	onB, _ := bench.schedule(t, b)
	onC, status := bench.schedule(t, c)
	require.True(t, status.IsSuccess(), "%v", status)
	bench.stands(t, c, onC)
	bench.unreserve(t, b, onB)
	bench.appears(t, above)
	if node, status := bench.schedule(t, above); status.IsSuccess() || status.IsWait() {
		t.Errorf("the pod above the minimum is on %s, where its sibling has a seat: %v", node, status)
	}
	if node, status := bench.schedule(t, b); node != onB || !status.IsSuccess() {
		t.Errorf("the sibling is on %q instead of %q: %v", node, onB, status)
	}
}

// stands has the snapshot show a pod on its node.
func (b *bench) stands(t *testing.T, pod *corev1.Pod, node string) {
	t.Helper()
	there := pod.DeepCopy()
	there.Spec.NodeName = node
	info, err := framework.NewPodInfo(there)
	require.NoError(t, err)
	shown, err := b.SnapshotSharedLister().NodeInfos().Get(node)
	require.NoError(t, err)
	shown.AddPodInfo(info)
}

// The node does not take the pod any more. Its room there is of no use, however long it would be kept.
func TestAPodRejectedByItsNodeLosesItsRoomThere(t *testing.T) {
	a, b := newPod("gang", "a"), newPod("gang", "b")
	bench := newBench(t, newNodes(3), []*corev1.Pod{a, b}, podGroup("gang", 2))
	onA, _ := bench.schedule(t, a)
	onB, _ := bench.schedule(t, b)
	bench.stands(t, b, onB)
	bench.unreserve(t, a, onA)
	shown, err := bench.SnapshotSharedLister().NodeInfos().Get(onA)
	require.NoError(t, err)
	tainted := shown.Node().DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoSchedule}}
	shown.SetNode(tainted)
	node, status := bench.schedule(t, a)
	require.False(t, status.IsSuccess(), "the pod is on %q, which was %q", node, onA)
	if node, status := bench.schedule(t, a); !status.IsSuccess() || node == onA || node == onB {
		t.Errorf("the pod is on %q, which was refused it on %q: %v", node, onA, status)
	}
}

func TestTwoBindingsThatFailDoNotWaitForEachOther(t *testing.T) {
	a, b := newPod("gang", "a"), newPod("gang", "b")
	bench := newBench(t, newNodes(2), []*corev1.Pod{a, b}, podGroup("gang", 2))
	onA, _ := bench.schedule(t, a)
	onB, _ := bench.schedule(t, b)
	bench.unreserve(t, a, onA)
	bench.unreserve(t, b, onB)
	for _, pod := range []*corev1.Pod{b, a} {
		node, status := bench.schedule(t, pod)
		assert.True(t, status.IsSuccess(), "pod %s waits on %s: %v", pod.Name, node, status)
	}
}

func TestANodeThatGetsIntoAnotherRackBreaksThePlan(t *testing.T) {
	group, topology := inOneRackOf()
	a, b := newPod("gang", "a"), newPod("gang", "b")
	all := newNodes(2)
	bench := newBench(t, all, []*corev1.Pod{a, b}, group, topology)
	onA, status := bench.schedule(t, a)
	require.True(t, status.IsWait(), "%v", status)
	for _, node := range all {
		moved := node.DeepCopy()
		moved.Labels["color"] = "red"
		bench.plugin.nodeHandler().OnUpdate(node, moved)
	}
	if assumed, _ := bench.plugin.gangs.Unshown(theGang); len(assumed) != 1 || assumed[0].Spec.NodeName != onA {
		t.Fatal("a label that is no level's breaks the plan")
	}
	for _, node := range all {
		if node.Name != onA {
			moved := node.DeepCopy()
			moved.Labels["rack"] = "other"
			bench.plugin.nodeHandler().OnUpdate(node, moved)
		}
	}
	if status := bench.waits(t, a); status.IsSuccess() || !strings.Contains(status.Message(), "is in another domain") {
		t.Errorf("the gang is let go, or nobody says why not: %v", status)
	}
}

func TestANodeThatIsDeletedBreaksThePlan(t *testing.T) {
	a, b := newPod("gang", "a"), newPod("gang", "b")
	all := newNodes(2)
	bench := newBench(t, all, []*corev1.Pod{a, b}, podGroup("gang", 2))
	onA, _ := bench.schedule(t, a)
	for _, node := range all {
		if node.Name == onA {
			bench.plugin.nodeHandler().OnDelete(node)
		}
	}
	if status := bench.waits(t, a); status.IsSuccess() || !strings.Contains(status.Message(), "was deleted") {
		t.Errorf("the gang is let go, or nobody says why not: %v", status)
	}
}

// The node changes when its pod has passed Permit, so that no plan is left to be broken.
func TestAPodIsNotBoundToANodeThatIsNotWhatItWasPlannedFor(t *testing.T) {
	group, topology := inOneRackOf()
	for name, test := range map[string]struct {
		change func(nodes []*corev1.Node)
		says   string
	}{
		"it is as it was": {func([]*corev1.Node) {}, ""},
		"it is in another rack": {func(nodes []*corev1.Node) { nodes[0].Labels["rack"] = "other" },
			"node n0 is in another domain than when the pod was planned"},
		"it has lost its rack": {func(nodes []*corev1.Node) { delete(nodes[0].Labels, "rack") },
			"node n0 is in another domain than when the pod was planned"},
		"it has got another label": {func(nodes []*corev1.Node) { nodes[0].Labels["color"] = "red" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newPod("gang", "a"), newPod("gang", "b")
			all := newNodes(2)
			bench := newBench(t, all, []*corev1.Pod{a, b}, group, topology)
			onNode := map[string]*corev1.Pod{}
			for _, pod := range []*corev1.Pod{a, b} {
				node, _ := bench.schedule(t, pod)
				onNode[node] = pod
			}
			now := newNodes(2)
			test.change(now)
			bench.setNodes(t, now)
			pod := onNode["n0"]
			status := bench.plugin.PreBind(t.Context(), framework.NewCycleState(), pod, "n0")
			require.Equal(t, test.says, status.Message())
			if test.says == "" {
				return
			}
			bench.unreserve(t, pod, "n0")
			assert.Empty(t, bench.plugin.gangs.Reserved(gang.Rank{}, nil).Room, "the pod keeps a seat there")
		})
	}
}

func TestAPodIsNotBoundToANodeThatIsGone(t *testing.T) {
	a := newPod("gang", "a")
	bench := newBench(t, newNodes(1), []*corev1.Pod{a}, podGroup("gang", 1))
	_, status := bench.schedule(t, a)
	require.True(t, status.IsSuccess(), "%v", status)
	bench.setNodes(t, nil)
	status = bench.plugin.PreBind(t.Context(), framework.NewCycleState(), a,
		"n0")
	assert.Equal(t, "node n0 was deleted", status.Message(), "it is bound: %v", status)
}

func TestAPodOnItsWayOutBreaksThePlanThatCountsOnIt(t *testing.T) {
	a, b, c := newPod("gang", "a"), newPod("gang", "b"), newPod("gang", "c")
	bench := newBench(t, newNodes(3), []*corev1.Pod{a, b, c}, podGroup("gang", 3))
	bench.schedule(t, a)
	bench.schedule(t, b)
	going := a.DeepCopy()
	deleted := metav1.Now()
	going.DeletionTimestamp, going.Finalizers = &deleted, []string{"example.com/held"}
	bench.plugin.podHandler().OnUpdate(a, going)
	for _, pod := range []*corev1.Pod{a, b} {
		assert.False(t, bench.waits(t, pod).IsSuccess(), "pod %s is let go", pod.Name)
	}
	assert.Empty(t, bench.plugin.gangs.Reserved(gang.Rank{}, nil).Room, "room is kept for a gang that cannot be")
}

func TestAPlanThatWasOvertakenWhileItWasMadeIsNotFollowed(t *testing.T) {
	a, b := newPod("gang", "a"), newPod("gang", "b")
	group, topology := inOneRackOf()
	for name, test := range map[string]struct {
		change func(*request)
		says   string
	}{
		"nothing has changed": {func(*request) {}, ""},
		"its PodGroup":        {func(read *request) { read.version.Generation-- }, "its PodGroup was changed"},
		"a pod's subgroup": {func(read *request) {
			read.Pending[0].Labels = map[string]string{kai.LabelSubGroupName: "x"}
		}, "pod a was changed"},
		"a pod's requests": {func(read *request) {
			read.Pending[1].Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		}, "pod b was changed"},
		"a pod is another one": {func(read *request) { read.Pending[0].UID = "old" }, "pod a was changed"},
		"a Topology":           {func(read *request) { read.version.Topologies = "old" }, "a Topology was changed"},
		"a pod has gone that counted as placed": {func(read *request) {
			read.Standing = []*corev1.Pod{newPod("gang", "c")}
		}, "pod c lost its node"},
		"a pod's binding has failed": {func(read *request) {
			seated := read.Pending[1].DeepCopy()
			seated.Spec.NodeName = "n1"
			read.Pending, read.Standing = read.Pending[:1], []*corev1.Pod{seated}
		}, "pod b lost its node"},
	} {
		t.Run(name, func(t *testing.T) {
			bench := newBench(t, newNodes(2), []*corev1.Pod{a, b}, group, topology)
			read := bench.read(t, theGang, nil)
			test.change(read)
			got, _ := bench.plugin.gangs.Confirm(read.Gang, read.version, nil, seen{bench.plugin})
			assert.Equal(t, test.says == "", got == "", "in it")
			assert.Contains(t, got, test.says, "in it")
		})
	}
}

func TestGangsAreHeldUntilAllAreKnown(t *testing.T) {
	a := newPod("gang", "a")
	bench := newBench(t, newNodes(1), []*corev1.Pod{a}, podGroup("gang", 1))
	bench.plugin.gangs = gangstate.New(bench.plugin.profiles.have, nil)
	status := bench.plugin.PreEnqueue(t.Context(), a)
	require.Contains(t, status.Message(), "to be listed", "it is not held: %v", status)
	bench.plugin.podGroupHandler().OnAdd(podGroup("gang", 1), true)
	bench.plugin.podHandler().OnAdd(a, true)
	assert.False(t, bench.activator.called("a"), "it is called before the others are known")
	leading := make(chan struct{})
	close(leading)
	go bench.plugin.begin(t.Context(), func() bool { return true }, leading)
	eventually(t, "the gang to be called", func() bool { return bench.activator.called("a") })
}

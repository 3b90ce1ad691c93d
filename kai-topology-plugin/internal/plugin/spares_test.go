package plugin

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// racksWithSpares is a Topology of racks that each keep one node empty.
func racksWithSpares() *kai.Topology {
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{
		Name: "racks", Annotations: map[string]string{kai.AnnotationSpares: `[{"level":"rack","nodes":1}]`},
	}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	return topology
}

func TestSparesAreKept(t *testing.T) {
	const refused = "kept as spares: 1 of 2 nodes in rack r"
	daemon := newPod("", "p")
	daemon.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: ptr.To(true)}}
	protected := podGroup("g", 1)
	protected.Spec.Preemptibility = scheduling.NonPreemptible
	for name, c := range map[string]struct {
		stands    []*corev1.Pod
		asks      *corev1.Pod
		podGroups []kruntime.Object
		refused   bool
	}{
		"from a gang":                             {asks: newPod("g", "g-0"), podGroups: []kruntime.Object{podGroup("g", 1)}, refused: true},
		"from a pod without one":                  {asks: newPod("", "p"), refused: true},
		"not from a pod that every node has":      {asks: daemon},
		"not from a pod that yields":              {asks: ranked(-1, "", newPod("", "p"))},
		"not from a gang that yields":             {asks: ranked(-1, "", newPod("g", "g-0")), podGroups: []kruntime.Object{podGroup("g", 1)}},
		"from a gang that nobody can make yield":  {asks: ranked(-1, "", newPod("g", "g-0")), podGroups: []kruntime.Object{protected}, refused: true},
		"not from a gang that has lost a pod":     {stands: []*corev1.Pod{ranked(0, "n0", newPod("g", "g-1"))}, asks: newPod("g", "g-0"), podGroups: []kruntime.Object{podGroup("g", 2)}},
		"from a gang that wants more than it has": {stands: []*corev1.Pod{ranked(0, "n0", newPod("g", "g-1"))}, asks: newPod("g", "g-0"), podGroups: []kruntime.Object{podGroup("g", 1)}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			stands := c.stands
			if len(stands) == 0 {
				stands = []*corev1.Pod{ranked(0, "n0", newPod("", "other"))}
			}
			bench := newBench(t, nodes(2), append(stands, c.asks), append(c.podGroups, racksWithSpares())...)
			state := framework.NewCycleState()
			fit, status := bench.feasible(t, state, c.asks)
			if c.refused != (len(fit) == 0) {
				t.Fatalf("nodes %v: %v", fit, status.Message())
			}
			if !c.refused {
				return
			}
			said := status.Message()
			if !strings.HasPrefix(c.asks.Name, "g") {
				said = bench.judge(t, c.asks).Objections["n1"]
			}
			if !strings.Contains(said, refused) {
				t.Errorf("it is told %q", said)
			}
		})
	}
}

func TestWhoIsKeptFromSparesTriesAgainWhenTheyAreKeptNoMore(t *testing.T) {
	gang, plain := newPod("g", "g-0"), newPod("", "p")
	topology := racksWithSpares()
	bench := newBench(t, nodes(2), []*corev1.Pod{ranked(0, "n0", newPod("", "other")), gang, plain}, podGroup("g", 1), topology)
	if bench.ask(t, gang) || len(bench.judge(t, plain).Scores) > 0 {
		t.Fatal("somebody gets the spare")
	}
	changed := topology.DeepCopy()
	changed.Annotations = nil
	if _, err := bench.objects.KaiV1alpha1().Topologies().Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both are called", func() bool { return bench.activator.called("g-0") && bench.activator.called("p") })
	if !bench.ask(t, gang) {
		t.Error("the gang has no place")
	}
}

// Two gangs that come one after the other do not take the last nodes between them, though the first one's pods show on
// no node yet.
func TestNodesThatAreReservedAreNoSpares(t *testing.T) {
	first, second := newPod("first", "first-0"), newPod("second", "second-0")
	bench := newBench(t, nodes(2), []*corev1.Pod{first, second}, podGroup("first", 1), podGroup("second", 1), racksWithSpares())
	if !bench.ask(t, first) {
		t.Fatal("one of two nodes can be had")
	}
	if bench.ask(t, second) {
		t.Error("the last node can be had too")
	}
}

// A node from which others leave for a gang is empty in the end, and no spare for that.
func TestAGangGetsTheNodeThatOthersLeaveForIt(t *testing.T) {
	low, asks := ranked(1, "n0", newPod("", "low")), ranked(9, "", newPod("boss", "boss-0"))
	bench := newBench(t, nodes(2), []*corev1.Pod{low, asks}, podGroup("boss", 1), racksWithSpares())
	if bench.ask(t, asks) {
		t.Fatal("there is room at once")
	}
	eventually(t, "the pod of lower priority is deleted", func() bool { return !bench.names(t)["low"] })
	eventually(t, "the gang is called", func() bool { return bench.activator.called("boss-0") })
	after := newBench(t, nodes(2), []*corev1.Pod{asks}, podGroup("boss", 1), racksWithSpares())
	after.preemptFor(t, boss, asks, "n0")
	node, status := after.schedule(t, asks)
	if node != "n0" {
		t.Errorf("it goes to %q: %s", node, status.Message())
	}
}

package spares

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// drawKept draws up to six nodes in two blocks of two racks, of which some are in use, and what they keep.
func drawKept(t *rapid.T) (kept Kept, free sets.Set[string]) {
	cluster, free := Cluster{}, sets.New[string]()
	for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		block := rapid.SampledFrom([]string{"b1", "b2"}).Draw(t, "block")
		rack := rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack")
		name := fmt.Sprint("n", i)
		var pods []*corev1.Pod
		switch rapid.SampledFrom([]string{"empty", "empty", "yields", "used", "daemon"}).Draw(t, "pods") {
		case "yields":
			pods = append(pods, podOf(1))
		case "used":
			pods = append(pods, podOf(9))
		case "daemon":
			pods = append(pods, ofDaemonSet())
		}
		if len(pods) == 0 || *pods[0].Spec.Priority < 9 {
			free.Insert(name)
		}
		cluster.Nodes = append(cluster.Nodes, rackNode(block, rack, name, pods...))
	}
	number := func(what string) int { return rapid.IntRange(0, 3).Draw(t, what) }
	wanted, wrong := Of(topology(fmt.Sprintf(
		`[{"level":"l/rack","nodes":%d,"yieldBelow":5},{"level":"l/block","nodes":%d,"yieldBelow":5}]`,
		number("of a rack"), number("of a block"))))
	if wrong != nil {
		t.Fatal(wrong)
	}
	return All(wanted, cluster), free
}

// some are the nodes of a set by its bits.
func some(all []string, chosen uint) sets.Set[string] {
	set := sets.New[string]()
	for i, name := range all {
		if chosen&(1<<i) != 0 {
			set.Insert(name)
		}
	}
	return set
}

// enough reports whether every domain has as many of these nodes as it is to keep, or all that it has.
func enough(kept Kept, nodes sets.Set[string]) bool {
	return !slices.ContainsFunc(kept, func(d Domain) bool {
		there := sets.New(names(d.There)...)
		return there.Intersection(nodes).Len() < min(d.Nodes, there.Len())
	})
}

// Of all ways to keep enough nodes empty, no other takes fewer nodes from gangs.
func TestNoMoreNodesAreClosedThanItTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept, free := drawKept(t)
		all, fewest := sets.List(free), free.Len()
		for chosen := range uint(1) << len(all) {
			if enough(kept, some(all, chosen)) {
				fewest = min(fewest, bits.OnesCount(chosen))
			}
		}
		closed := sets.New(kept.Closed()...)
		if !enough(kept, closed) || closed.Len() != fewest || !free.IsSuperset(closed) {
			t.Errorf("closed are %v, %d would do, free are %v", closed, fewest, all)
		}
	})
}

// Nodes can be used if and only if others can be kept beside them.
func TestNodesCanBeUsedIfOthersCanBeKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept, free := drawKept(t)
		all := sets.List(free)
		used := some(all, rapid.UintRange(0, 1<<len(all)-1).Draw(t, "used"))
		before := kept.Closed()
		beside := sets.New(kept.Beside(used).Closed()...)
		if leaves := enough(kept, free.Difference(used)); kept.Leave(used) != leaves {
			t.Errorf("without %v enough are left is %t, said is %t", used, leaves, kept.Leave(used))
		}
		if !enough(kept, beside) || kept.Leave(used) != !beside.HasAny(used.UnsortedList()...) {
			t.Errorf("used are %v, closed beside them %v, enough are left is %t", used, beside, kept.Leave(used))
		}
		if after := kept.Closed(); !slices.Equal(before, after) {
			t.Errorf("asked for others, closed are %v rather than %v", after, before)
		}
	})
}

// A node that has to stay free is one without which its domain has fewer than it is to have.
func TestNeededNodesAreThoseWithoutWhichFewerAreLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept, free := drawKept(t)
		needed := kept.Needed()
		for name := range free {
			if _, is := needed[name]; is == kept.Leave(sets.New(name)) {
				t.Errorf("node %s is needed: %t", name, is)
			}
		}
		if !free.HasAll(slices.Collect(maps.Keys(needed))...) {
			t.Errorf("of %v needed are %v", free, needed)
		}
	})
}

func TestLevelsAreSummedUp(t *testing.T) {
	other := topology(`[{"level":"l/rack","nodes":1}]`)
	other.Name = "u"
	kept := All(OfAll(map[string]*kai.Topology{
		"u": other, "t": topology(`[{"level":"l/block","nodes":1},{"level":"l/rack","nodes":2}]`),
		"wrong": topology("two"),
	}), Cluster{Nodes: []fwk.NodeInfo{
		rackNode("b1", "r1", "a1"), rackNode("b1", "r1", "a2"), rackNode("b1", "r1", "a3"), rackNode("b1", "r2", "b1"),
		rackNode("b2", "r1", "c1", podOf(0)),
	}})
	levels := []Level{
		{Topology: "t", Level: "l/block", Wanted: 2, There: 1, Domains: 2, Short: 1},
		{Topology: "t", Level: "l/rack", Wanted: 6, There: 3, Domains: 3, Short: 2},
		{Topology: "u", Level: "l/rack", Wanted: 3, There: 2, Domains: 3, Short: 1},
	}
	if diff := cmp.Diff(levels, kept.Levels()); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	for near, want := range map[string]string{
		"":      "kept as spares: 1 of 4 nodes in l/block b1, and nodes in 4 more",
		"b1/r2": "kept as spares: 1 of 4 nodes in l/block b1, and nodes in 4 more",
		"b2/r1": "kept as spares: 1 of 4 nodes in l/block b1, and nodes in 4 more",
	} {
		var path packing.Path
		if near != "" {
			path = packing.Path{near[:2], near[3:]}
		}
		if got := kept.Note(path); got != want {
			t.Errorf("near %q is said %q, want %q", near, got, want)
		}
	}
	racks := kept[2:]
	want := "kept as spares: 2 of 3 nodes in l/rack b1/r1, and nodes in 3 more"
	if got := racks.Note(packing.Path{"b1"}); got != want {
		t.Errorf("around racks is said %q, want %q", got, want)
	}
	if got := (Kept{}).Note(nil); got != "" {
		t.Errorf("where nothing is kept is said %q", got)
	}
}

// gangWith is a gang that needs two pods, of some priority, of which so many stand.
func gangWith(
	t *testing.T, priority int32, preemptibility scheduling.Preemptibility, standing int, seats ...scheduling.SeatsStatus,
) *gang.Gang {
	t.Helper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g"}}
	podGroup.Spec = scheduling.PodGroupSpec{MinMember: ptr.To(int32(2)), Preemptibility: preemptibility}
	podGroup.Status.Seats = seats
	pods := make([]*corev1.Pod, 2)
	for i := range pods {
		pods[i] = podOf(priority)
		pods[i].Namespace, pods[i].Name = "ns", fmt.Sprint("g-", i)
		pods[i].Annotations = map[string]string{scheduling.AnnotationPodGroupName: "g"}
		if i < standing {
			pods[i].Spec.NodeName = "n"
		}
	}
	assembled, hold := gang.Assemble(podGroup, pods, func(string) (podgrouptree.Hierarchy, bool) { return nil, false })
	if hold != nil {
		t.Fatal(hold)
	}
	return assembled
}

func TestFromWhomSparesAreKept(t *testing.T) {
	wanted, _ := Of(topology(`[{"level":"l/block","nodes":1},{"level":"l/rack","nodes":1,"yieldBelow":5}]`))
	cluster := Cluster{Nodes: []fwk.NodeInfo{rackNode("b", "r", "a")}}
	static := podOf(9)
	static.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", UID: "n", Controller: ptr.To(true)}}
	owned := podOf(9)
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", UID: "j", Controller: ptr.To(true)}}
	for name, c := range map[string]struct {
		kept Kept
		want []string
	}{
		"a gang that yields from racks": {From(gangWith(t, 4, "", 0), wanted, cluster), []string{"l/block"}},
		"a gang of the priority":        {From(gangWith(t, 5, "", 0), wanted, cluster), []string{"l/block", "l/rack"}},
		"a gang that nobody can make go": {
			From(gangWith(t, 4, scheduling.NonPreemptible, 0), wanted, cluster), []string{"l/block", "l/rack"},
		},
		"a pod that yields from racks":     {FromPod(podOf(4), wanted, cluster), []string{"l/block"}},
		"a pod of the priority":            {FromPod(podOf(5), wanted, cluster), []string{"l/block", "l/rack"}},
		"a pod of a Job":                   {FromPod(owned, wanted, cluster), []string{"l/block", "l/rack"}},
		"a pod of a DaemonSet":             {FromPod(ofDaemonSet(), wanted, cluster), nil},
		"a pod that a node runs by itself": {FromPod(static, wanted, cluster), nil},
	} {
		var got []string
		for _, level := range c.kept.Levels() {
			got = append(got, level.Level)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: domains of %v are kept, want %v", name, got, c.want)
		}
	}
	if len(wanted) != 2 || wanted[0].Level() != "l/block" || wanted[1].Level() != "l/rack" {
		t.Errorf("what is wanted was changed to %v", wanted)
	}
}

func TestWhoMends(t *testing.T) {
	for name, c := range map[string]struct {
		gang *gang.Gang
		want bool
	}{
		"nobody stands":                  {gangWith(t, 0, "", 0), false},
		"one of two stands":              {gangWith(t, 0, "", 1), true},
		"both stand":                     {gangWith(t, 0, "", 2), false},
		"a seat is held for a successor": {gangWith(t, 0, "", 0, scheduling.SeatsStatus{}), true},
		"a seat is held beside both":     {gangWith(t, 0, "", 2, scheduling.SeatsStatus{}), true},
	} {
		if got := Mends(c.gang); got != c.want {
			t.Errorf("%s: mends is %t", name, got)
		}
	}
}

func TestWhoYields(t *testing.T) {
	member := func(priority int32, of string) *corev1.Pod {
		pod := podOf(priority)
		pod.Namespace, pod.Annotations = "ns", map[string]string{scheduling.AnnotationPodGroupName: of}
		return pod
	}
	podGroup := func(key gang.Key) (*scheduling.PodGroup, error) {
		switch key {
		case gang.Key{Namespace: "ns", Name: "spared"}:
			return &scheduling.PodGroup{Spec: scheduling.PodGroupSpec{Preemptibility: scheduling.NonPreemptible}}, nil
		case gang.Key{Namespace: "ns", Name: "any"}:
			return &scheduling.PodGroup{}, nil
		}
		return nil, errors.New("not found")
	}
	wanted, _ := Of(topology(`[{"level":"l/rack","nodes":1,"yieldBelow":5}]`))
	for name, c := range map[string]struct {
		pods    []*corev1.Pod
		cluster Cluster
		want    bool
	}{
		"a pod without a gang":                {[]*corev1.Pod{podOf(4)}, Cluster{}, true},
		"one of the priority":                 {[]*corev1.Pod{podOf(5)}, Cluster{}, false},
		"a gang":                              {[]*corev1.Pod{member(4, "any")}, Cluster{PodGroup: podGroup}, true},
		"a gang of the priority":              {[]*corev1.Pod{member(5, "any")}, Cluster{PodGroup: podGroup}, false},
		"a gang that nobody can make go":      {[]*corev1.Pod{member(4, "spared")}, Cluster{PodGroup: podGroup}, false},
		"a gang that does not exist":          {[]*corev1.Pod{member(4, "gone")}, Cluster{PodGroup: podGroup}, true},
		"a gang of which nothing can be read": {[]*corev1.Pod{member(4, "any")}, Cluster{}, false},
		"one that yields and one that does not": {
			[]*corev1.Pod{podOf(4), podOf(5)}, Cluster{}, false,
		},
		"pods that count as gone": {
			[]*corev1.Pod{podOf(9)}, Cluster{Vacated: func(node string) bool { return node == "a" }}, true,
		},
		"pods that count as gone elsewhere": {
			[]*corev1.Pod{podOf(9)}, Cluster{Vacated: func(node string) bool { return node == "x" }}, false,
		},
	} {
		c.cluster.Nodes = []fwk.NodeInfo{rackNode("b", "r", "a", c.pods...)}
		if got := len(All(wanted, c.cluster)[0].There) == 1; got != c.want {
			t.Errorf("%s: the node is free for repair: %t", name, got)
		}
	}
}

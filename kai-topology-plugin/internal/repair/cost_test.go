package repair_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/repair"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestCostsAreComparedInTheirOrder(t *testing.T) {
	rising := []repair.Cost{
		{}, {Priority: 5}, {Devices: 1, Priority: -1}, {Devices: 2}, {Pods: 1}, {Pods: 1, Priority: 1}, {Pods: 1, Devices: 8}, {Pods: 2, Priority: -9},
	}
	for i, one := range rising {
		for j, other := range rising {
			if got := one.Compare(other); got != cmp.Compare(i, j) {
				t.Errorf("%+v compared with %+v is %d", one, other, got)
			}
		}
	}
}

// prioritised has the pods of gangs have priorities.
func prioritised(priorities map[string]int32) func(*inventory.Inventory) {
	return func(cluster *inventory.Inventory) {
		for _, pod := range cluster.Pods {
			priority := priorities[pod.Annotations[scheduling.AnnotationPodGroupName]]
			pod.Spec.Priority = &priority
		}
	}
}

func TestTheCheapestMoveIsMade(t *testing.T) {
	const stays = ": nobody moves"
	moves := func(gang, from, to string, pods string, rest string) string {
		return gang + ": will move the whole gang (" + pods + ") from l/rack z/" + from + " to z/" + to + " at 2026-01-01T12:00:00Z:" + rest
	}
	// Of g and h in rack r1 so many pods stand, and one of each has no place there.
	both := func(g, h int) string {
		on := func(count int) []string { return append(slices.Repeat([]string{"z-r1-n1"}, count), "") }
		return topology + node("z-r1-n1", g+h) + podGroup("g", fmt.Sprintf("minMember: %d, %s", g+1, oneRack)) + pods("g", "", 1, on(g)...) +
			podGroup("h", fmt.Sprintf("minMember: %d, %s", h+1, oneRack)) + pods("h", "", 1, on(h)...)
	}
	for name, c := range map[string]struct {
		cluster string
		change  func(*inventory.Inventory)
		after   map[string]time.Duration
		want    []string
	}{
		"of as many pods, those with fewer devices": {
			cluster: topology + nodes(5, "z-r1-n2") + nodes(4, "z-r2-n1") +
				podGroup("g", `subGroups: [{name: a, minMember: 2, `+oneRack+`}, {name: b, minMember: 2, `+oneRack+`}]`) +
				pods("g", "a", 2, "z-r1-n2", "") + pods("g", "b", 1, "z-r1-n2", ""),
			want: []string{"g: will move subgroup b (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -gb-0 +z-r1-n2 +z-r2-n1 +z-r2-n1"},
		},
		"processors are no devices": {
			cluster: topology + nodes(4, "z-r1-n2") + nodes(4, "z-r2-n1") +
				podGroup("g", `subGroups: [{name: a, minMember: 2, `+oneRack+`}, {name: b, minMember: 2, `+oneRack+`}]`) +
				pods("g", "a", 1, "z-r1-n2", "") + pods("g", "b", 1, "z-r1-n2", ""),
			change: func(cluster *inventory.Inventory) {
				for _, node := range cluster.Nodes {
					node.Status.Allocatable["cpu"] = resource.MustParse("100")
				}
				cluster.Nodes[0].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("3")
				for _, pod := range cluster.Pods {
					if gang.LeafOf(pod) == "a" {
						pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("9")
					}
				}
			},
			want: []string{"g: will move subgroup a (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -ga-0 +z-r1-n2 +z-r2-n1 +z-r2-n1"},
		},
		"one gang stays where another of fewer pods moves": {cluster: both(2, 1) + node("z-r2-n1", 3),
			want: []string{"g" + stays, moves("h", "r1", "r2", "1 pod", " -h-0 +z-r2-n1 +z-r2-n1")}},
		"one stays when one before it has moved": {cluster: both(1, 2) + node("z-r2-n1", 3),
			want: []string{moves("g", "r1", "r2", "1 pod", " -g-0 +z-r2-n1 +z-r2-n1"), "h" + stays}},
		"of two that cost as much the one of lower priority moves": {cluster: both(1, 1) + node("z-r2-n1", 2), change: prioritised(map[string]int32{"h": 1}),
			want: []string{moves("g", "r1", "r2", "1 pod", " -g-0 +z-r2-n1 +z-r2-n1"), "h" + stays}},
		"pods come before priority": {cluster: both(1, 2) + node("z-r2-n1", 3), change: prioritised(map[string]int32{"g": 1}),
			want: []string{moves("g", "r1", "r2", "1 pod", " -g-0 +z-r2-n1 +z-r2-n1"), "h" + stays}},
		"where only one has a place to go to it goes": {cluster: both(2, 1) + node("z-r2-n1", 2),
			want: []string{"g" + stays, moves("h", "r1", "r2", "1 pod", " -h-0 +z-r2-n1 +z-r2-n1")}},
		"not for one of lower priority": {cluster: both(1, 2) + node("z-r2-n1", 2), change: func(cluster *inventory.Inventory) {
			prioritised(map[string]int32{"g": 1})(cluster)
			cluster.Pods[2].OwnerReferences = nil
		}, want: []string{moves("g", "r1", "r2", "1 pod", " -g-0 +z-r2-n1 +z-r2-n1"), "h" + stays}},
		"nobody waits longer for another's move than for its own": {cluster: both(2, 1) + node("z-r2-n1", 5), after: map[string]time.Duration{"h": time.Minute},
			want: []string{moves("g", "r1", "r2", "2 pods", " -g-0 -g-1 +z-r2-n1 +z-r2-n1 +z-r2-n1"), "h" + stays}},
		"one that would have to move anyway moves alone": {
			cluster: topology + node("z-r1-n1", 3) + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 1, "z-r1-n1", "") +
				podGroup("h", "minMember: 4, "+oneRack) + pods("h", "", 1, "z-r1-n1", "z-r1-n1", "", "") + node("z-r2-n1", 6),
			want: []string{"g" + stays, moves("h", "r1", "r2", "2 pods", " -h-0 -h-1 +z-r2-n1 +z-r2-n1 +z-r2-n1 +z-r2-n1")}},
		"one that could stay where another has moved moves too, so that a third one stays": {
			cluster: topology + node("z-r1-n1", 7) + podGroup("g", "minMember: 4, "+oneRack) +
				pods("g", "", 1, "z-r1-n1", "z-r1-n1", "", "") +
				podGroup("h", "minMember: 3, "+oneRack) + pods("h", "", 1, "z-r1-n1", "", "") +
				podGroup("i", "minMember: 5, "+oneRack) + pods("i", "", 1, "z-r1-n1", "z-r1-n1", "z-r1-n1", "z-r1-n1", "") +
				node("z-r2-n1", 9),
			want: []string{
				moves("g", "r1", "r2", "2 pods", " -g-0 -g-1 +z-r2-n1 +z-r2-n1 +z-r2-n1 +z-r2-n1"),
				moves("h", "r1", "r2", "1 pod", " -h-0 +z-r2-n1 +z-r2-n1 +z-r2-n1"), "i" + stays,
			},
		},
		"a gang without a place goes to where one after it has left": {
			cluster: topology + nodes(3, "z-r1-n1", "z-r2-n1", "z-r2-n2") + nodes(1, "z-r3-n1", "z-r3-n2", "z-r3-n3", "z-r3-n4", "z-r3-n5", "z-r3-n6", "z-r3-n7") +
				podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 3, "z-r1-n1", "") + podGroup("h", "minMember: 7, "+oneRack) +
				pods("h", "", 1, "z-r2-n1", "z-r2-n1", "z-r2-n1", "z-r2-n2", "z-r2-n2", "z-r2-n2", ""),
			want: []string{moves("g", "r1", "r2", "1 pod", " -g-0 +z-r2-n1 +z-r2-n2"),
				moves("h", "r2", "r3", "6 pods", " -h-0 -h-1 -h-2 -h-3 -h-4 -h-5 +z-r3-n1 +z-r3-n2 +z-r3-n3 +z-r3-n4 +z-r3-n5 +z-r3-n6 +z-r3-n7")}},
		"one without a place goes where another would, which goes to where the first was": {
			cluster: topology + node("z-r1-n1", 1) + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 1, "z-r1-n1", "") +
				node("z-r2-n1", 2) + podGroup("h", "minMember: 3, "+oneRack) + pods("h", "", 1, "z-r2-n1", "", "") + node("z-r3-n1", 3),
			want: []string{moves("g", "r1", "r2", "1 pod", " -g-0 +z-r2-n1 +z-r2-n1"), moves("h", "r2", "r3", "1 pod", " -h-0 +z-r3-n1 +z-r3-n1 +z-r3-n1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := owned(t, c.cluster)
			if c.change != nil {
				c.change(cluster)
			}
			asked := allMay(cluster, scheduling.RepairMoveGang)
			for i := range asked {
				asked[i].Policy.After = c.after[asked[i].Gang.Name]
			}
			plans := plansOf(t, cluster, repair.Rules{}, asked)
			if diff := gocmp.Diff(c.want, planned(plans)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i := range asked {
				asked[i].Held = plans[asked[i].Gang].Seats
			}
			if diff := gocmp.Diff(c.want, planned(plansOf(t, cluster, repair.Rules{}, asked))); diff != "" {
				t.Errorf("once room is held (-want +got):\n%s", diff)
			}
		})
	}
}

// pair is two gangs of pods of one device, each in one of some racks, that have lost pods for which they have no place.
type pair struct {
	// free is what is free in each rack, and of each gang: its rack, the pods that stand and that are lost, its
	// priority.
	free             []int
	rack, kept, lost [2]int
	priority         [2]int32
}

func drawPair(t *rapid.T) *pair {
	p := &pair{free: rapid.SliceOfN(rapid.IntRange(0, 4), 2, 4).Draw(t, "free")}
	for i := range p.rack {
		p.rack[i] = rapid.IntRange(0, len(p.free)-1).Draw(t, "rack")
		p.kept[i] = rapid.IntRange(1, 3).Draw(t, "kept")
		p.lost[i] = rapid.IntRange(1, 3).Draw(t, "lost")
	}
	p.priority[0] = int32(rapid.IntRange(0, 1).Draw(t, "priority")) // The other never comes first.
	return p
}

func (p *pair) manifests() string {
	text := topology
	size := slices.Clone(p.free)
	for i, rack := range p.rack {
		size[rack] += p.kept[i]
	}
	for rack, size := range size {
		text += node(fmt.Sprintf("z-r%d-n1", rack), size)
	}
	for i, name := range []string{"g", "h"} {
		on := slices.Repeat([]string{fmt.Sprintf("z-r%d-n1", p.rack[i])}, p.kept[i])
		text += podGroup(name, fmt.Sprintf("minMember: %d, %s", p.kept[i]+p.lost[i], oneRack))
		text += pods(name, "", 1, append(on, slices.Repeat([]string{""}, p.lost[i])...)...)
	}
	return strings.ReplaceAll(text, `pods: "9"`, `pods: "99"`)
}

// The outcomes for a gang that are no rack to which it moves.
const (
	unmended = -2
	staying  = -1
)

// fits reports whether racks have room for what becomes of both gangs.
func (p *pair) fits(outcome [2]int) bool {
	free := slices.Clone(p.free)
	for i, to := range outcome {
		switch to {
		case unmended:
		case staying:
			free[p.rack[i]] -= p.lost[i]
		default:
			free[p.rack[i]] += p.kept[i]
			free[to] -= p.kept[i] + p.lost[i]
		}
	}
	return slices.Min(free) >= 0
}

// best tries every outcome: gangs stay if they can as things are, the first one first; then as much is mended as can
// be, the first one first, for the least cost.
func (p *pair) best() (mended [2]bool, least repair.Cost) {
	var stays [2]bool
	stays[0] = p.fits([2]int{staying, unmended})
	if stays[0] {
		stays[1] = p.fits([2]int{staying, staying})
	} else {
		stays[1] = p.fits([2]int{unmended, staying})
	}
	least.Pods = math.MaxInt
	for first := unmended; first < len(p.free); first++ {
		for second := unmended; second < len(p.free); second++ {
			outcome := [2]int{first, second}
			cost, got, possible := repair.Cost{Priority: math.MinInt32}, [2]bool{}, p.fits(outcome)
			for i, to := range outcome {
				possible = possible && to != p.rack[i] && (!stays[i] || to == staying)
				got[i] = to != unmended
				if to >= 0 {
					cost.Pods += p.kept[i]
					cost.Priority = max(cost.Priority, p.priority[i])
				}
			}
			cost.Devices = int64(cost.Pods)
			better := cmp.Or(compare(mended[0], got[0]), compare(mended[1], got[1]), cost.Compare(least))
			if possible && better < 0 {
				mended, least = got, cost
			}
		}
	}
	return mended, least
}

// compare is negative if only the second is true.
func compare(one, other bool) int {
	switch {
	case one == other:
		return 0
	case other:
		return -1
	}
	return 1
}

func TestTwoGangsAreMendedForTheLeastCost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPair(r)
		cluster := owned(t, p.manifests())
		prioritised(map[string]int32{"g": p.priority[0], "h": p.priority[1]})(cluster)
		plans := plansOf(t, cluster, repair.Rules{}, allMay(cluster, scheduling.RepairMoveGang))
		var mended [2]bool
		cost := repair.Cost{Priority: math.MinInt32}
		for i, name := range []string{"g", "h"} {
			plan := plans[gang.Key{Namespace: corev1.NamespaceDefault, Name: name}]
			mended[i] = plan.Reason != scheduling.ReasonNoPlace
			if len(plan.Leaving) > 0 {
				cost.Pods += len(plan.Leaving)
				cost.Priority = max(cost.Priority, p.priority[i])
			}
		}
		cost.Devices = int64(cost.Pods)
		if want, least := p.best(); mended != want || cost != least {
			r.Fatalf("mended %v for %+v, want %v for %+v\n%s\n%s", mended, cost, want, least,
				strings.Join(planned(plans), "\n"), p.manifests())
		}
	})
}

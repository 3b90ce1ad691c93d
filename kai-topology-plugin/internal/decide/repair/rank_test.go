package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// prioritised has the pods of gangs have priorities.
func prioritised(priorities map[string]int32) func(*inventory.Inventory) {
	return func(cluster *inventory.Inventory) {
		for _, pod := range cluster.Pods {
			priority := priorities[pod.Annotations[scheduling.AnnotationPodGroupName]]
			pod.Spec.Priority = &priority
		}
	}
}

func TestGangsAreDecidedInOrderOfRank(t *testing.T) {
	const stays = ": nobody moves"
	moves := func(gang, to string, pods string, rest string) string {
		return gang + ": will move the whole gang (" + pods + ") from l/rack z/r1 to z/" + to + " at 2026-01-01T12:00:00Z:" + rest
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
		want    []string
		// held is what is planned once room is held, if that is something else.
		held []string
	}{
		"one stays in the room that one before it leaves": {cluster: both(1, 2) + node("z-r2-n1", 3),
			want: []string{moves("g", "r2", "1 pod", " -g-0 +z-r2-n1 +z-r2-n1"), "h" + stays}},
		"the older one moves, whatever it takes": {cluster: both(2, 1) + node("z-r2-n1", 3),
			want: []string{moves("g", "r2", "2 pods", " -g-0 -g-1 +z-r2-n1 +z-r2-n1 +z-r2-n1"), "h" + stays}},
		"one of higher priority is decided first": {cluster: both(1, 2) + node("z-r2-n1", 3), change: prioritised(map[string]int32{"h": 1}),
			want: []string{"g" + stays, moves("h", "r2", "2 pods", " -h-0 -h-1 +z-r2-n1 +z-r2-n1 +z-r2-n1")}},
		"no gang moves for another": {cluster: both(2, 1) + node("z-r2-n1", 2),
			want: []string{"g: no placement was found for the gang, even if all its pods moved", moves("h", "r2", "1 pod", " -h-0 +z-r2-n1 +z-r2-n1")},
			held: []string{"g" + stays, moves("h", "r2", "1 pod", " -h-0 +z-r2-n1 +z-r2-n1")}},
		"what one may not leave is no room for another": {cluster: both(1, 2) + node("z-r2-n1", 2),
			change: func(cluster *inventory.Inventory) { cluster.Pods[0].OwnerReferences = nil },
			want: []string{
				"g: moving the whole gang (1 pod) from l/rack z/r1 to z/r2 would help, but pod g-0 has no controller that creates it again",
				"h: no placement was found for the gang, even if all its pods moved",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := owned(t, c.cluster)
			if c.change != nil {
				c.change(cluster)
			}
			asked := allMay(cluster, scheduling.RepairMoveGang)
			plans := plansOf(t, cluster, repair.Rules{}, asked)
			assert.Empty(t, cmp.Diff(c.want, planned(plans)))
			for i := range asked {
				asked[i].Held = plans[asked[i].Gang].Seats
			}
			if c.held == nil {
				c.held = c.want
			}
			assert.Empty(t, cmp.Diff(c.held, planned(plansOf(t, cluster, repair.Rules{}, asked))), "once room is held")
		})
	}
}

// pair is two gangs of pods of one device, each in one of some racks, that have lost pods.
type pair struct {
	// free is what is free in each rack, and of each gang: its rack, the pods that stand and that are lost.
	free             []int
	rack, kept, lost [2]int
	// order is that of the gangs by priority.
	order []int
}

func drawPair(t *rapid.T) *pair {
	p := &pair{free: rapid.SliceOfN(rapid.IntRange(0, 4), 2, 4).Draw(t, "free"), order: rapid.Permutation([]int{0, 1}).Draw(t, "order")}
	for i := range p.rack {
		p.rack[i] = rapid.IntRange(0, len(p.free)-1).Draw(t, "rack")
		p.kept[i] = rapid.IntRange(1, 3).Draw(t, "kept")
		p.lost[i] = rapid.IntRange(1, 3).Draw(t, "lost")
	}
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

// settle checks what is planned for a gang against what is free, and changes that to what the gang leaves and takes.
func (p *pair) settle(i int, plan repair.Plan) (want string) {
	rack, needed := p.rack[i], p.kept[i]+p.lost[i]
	switch {
	case p.free[rack] >= p.lost[i]:
		p.free[rack] -= p.lost[i]
		return "in place"
	case !slices.ContainsFunc(p.free, func(free int) bool { return free >= needed }):
		return "no place"
	}
	want = fmt.Sprintf("moves %d pods", p.kept[i])
	if len(plan.Seats) == needed {
		var to int
		if _, err := fmt.Sscanf(plan.Seats[0].Node, "z-r%d-n1", &to); err != nil || p.free[to] < needed {
			return want + fmt.Sprint(", and not to ", plan.Seats[0].Node)
		}
		p.free[to] -= needed
		p.free[rack] += p.kept[i]
	}
	return want
}

// A gang stays if it can beside what the one before it leaves and takes, else moves if there is room for all of it.
func TestEachOfTwoGangsGetsTheLeastThatHelps(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPair(r)
		manifests := p.manifests()
		cluster := owned(t, manifests)
		names := []string{"g", "h"}
		prioritised(map[string]int32{names[p.order[0]]: 1})(cluster)
		plans := plansOf(t, cluster, repair.Rules{}, allMay(cluster, scheduling.RepairMoveGang))
		for _, i := range p.order {
			name := names[i]
			plan := plans[gang.Key{Namespace: corev1.NamespaceDefault, Name: name}]
			got := "in place"
			switch plan.Reason {
			case scheduling.ReasonNoPlace:
				got = "no place"
			case scheduling.ReasonMoveAhead:
				got = fmt.Sprintf("moves %d pods", len(plan.Leaving))
			}
			require.Equal(r, p.settle(i, plan), got, "%s\n%s\n%s", name, strings.Join(planned(plans), "\n"), manifests)
		}
	})
}

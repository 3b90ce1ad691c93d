package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// TestTheKindWithMostRoomIsTheOneThatALookAtAllWouldFind places pods here and there, so that room goes down for kinds
// that were asked for and for others.
func TestTheKindWithMostRoomIsTheOneThatALookAtAllWouldFind(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 31))
		spots := map[string]spot{}
		for i := range 3 + random.IntN(10) {
			spots[fmt.Sprintf("node-%02d", i)] = spot{"x", fmt.Sprint(i / 3), random.Int64N(12)}
		}
		root := problem.Group{Name: "g"}
		for k := range 2 + random.IntN(6) {
			root.Pending = append(root.Pending, ofGPU(fmt.Sprint(k), 1+random.IntN(8), int64(1+k)))
		}
		g := stated(t, smallHall(t, spots), root)
		r := minima{placer: g}
		left, kinds := slices.Clone(g.P.Wants(g.P.Pending, 0)), g.P.KindsOf(0)
		next := r.mostPlentiful(left, kinds, problem.WholeCluster)
		for {
			want, most := counts.None, int64(0)
			for k, n := range left {
				if room := g.P.Capacity(problem.WholeCluster, int(kinds[k])); n > 0 && room > most {
					want, most = k, room
				}
			}
			got, room := next(left, kinds, problem.WholeCluster)
			if got != want || room != most {
				t.Fatalf("seed %d: kind %d with room for %d, want %d with %d", seed, got, room, want, most)
			}
			if want == counts.None {
				break
			}
			if random.IntN(2) == 0 { // Another kind takes room, and has fewer pods left then.
				if other := random.IntN(len(left)); left[other] > 0 && g.fill(0, int(kinds[other]), 1, problem.WholeCluster) {
					left[other]--
				}
			} else if g.fill(0, int(kinds[want]), 1, problem.WholeCluster) {
				left[want]--
			}
		}
	}
}

func TestTheScarcestKindIsThatOfWhichFewestPodsFit(t *testing.T) {
	for name, test := range map[string]struct {
		pods map[int64]int
		// used are kinds, by what they ask for, of which no pod is left.
		used []int64
		want int64
		fit  int64
	}{
		"of three kinds the largest":        {pods: map[int64]int{1: 2, 2: 2, 4: 2}, want: 4, fit: 4},
		"not one that fits nowhere":         {pods: map[int64]int{1: 2, 3: 1, 9: 1}, want: 3, fit: 5},
		"not one of which all are placed":   {pods: map[int64]int{1: 2, 2: 2, 4: 2}, used: []int64{4}, want: 2, fit: 10},
		"none if those left fit nowhere":    {pods: map[int64]int{1: 2, 9: 1}, used: []int64{1}},
		"though there are more pods of one": {pods: map[int64]int{1: 9, 5: 1}, want: 5, fit: 2},
	} {
		t.Run(name, func(t *testing.T) {
			root := problem.Group{Name: "g"}
			for gpus, pods := range test.pods {
				root.Pending = append(root.Pending, ofGPU(fmt.Sprint(gpus), pods, gpus))
			}
			g := stated(t, fourRacks(t), root)
			left, kinds := slices.Clone(g.P.Wants(g.P.Pending, 0)), g.P.KindsOf(0)
			asks := func(k int) int64 { return g.P.Shapes[kinds[k]].Requests[0].Amount }
			for k := range left {
				if slices.Contains(test.used, asks(k)) {
					left[k] = 0
				}
			}
			k, fit := (minima{placer: g}).scarcest(left, kinds, problem.WholeCluster)
			got := int64(0)
			if k != counts.None {
				got = asks(k)
			}
			if got != test.want || fit != test.fit {
				t.Errorf("the kind of %d with room for %d, want that of %d with %d", got, fit, test.want, test.fit)
			}
		})
	}
}

// begun is a decision that has placed the minima and nothing else.
func begun(t *testing.T, c *counts.Cluster, root problem.Group) *Search {
	t.Helper()
	p := readGang(t, c, &problem.Gang{Root: root})
	d := &Search{Trial: &problem.Trial{P: p, Allowance: allowanceFor(p, p.Total(p.Pending, 0))}, Optimal: true}
	d.Limit = 1 << 20
	d.largest = p.Largest()
	if !d.placeMinima(0) {
		t.Fatal("the minima have no place")
	}
	return d
}

// placed is by leaf how many pods are chosen. What was found has to be as many.
func (d *Search) placed(t *testing.T) map[string]int {
	t.Helper()
	chosen, found := map[string]int{}, map[string]int{}
	for i := range d.P.Groups {
		if g := &d.P.Groups[i]; g.Leaf() {
			chosen[g.Source.Name], found[g.Source.Name] = d.P.Total(d.Chosen.Want, i), 0
		}
	}
	for _, pl := range d.Found {
		found[d.P.Groups[pl.Leaf].Source.Name] += int(pl.Pods)
	}
	if diff := cmp.Diff(chosen, found); diff != "" {
		t.Errorf("pods (-chosen +found):\n%s", diff)
	}
	return chosen
}

// wants is a leaf in a rack with pods of one GPU, of which so many are needed.
func wants(name string, least, pods int, running ...string) problem.Group {
	return problem.Group{Name: name, Constraint: inHall("rack", ""), MinMember: least, Running: running,
		Pending: []problem.Pods{ofGPU(name, pods, 1)}}
}

// atLeast is a parent in a domain of a level of which so many subgroups are needed.
func atLeast(least int, required string, children ...problem.Group) problem.Group {
	return problem.Group{Name: "parent", Constraint: inHall(required, ""), MinSubGroups: &least, Children: children}
}

// TestPodsBeyondTheMinimumArePlacedStepByStep in racks of 4, 3, 2 and 8.
func TestPodsBeyondTheMinimumArePlacedStepByStep(t *testing.T) {
	type pods = map[string]int
	follower := wants("b", 0, 2)
	follower.Follow = []problem.Anchor{{Topology: "hall", Level: "rack", Nodes: []string{"a1"}}}
	for name, test := range map[string]struct {
		root problem.Group
		// whole are those placed by groups that are placed wholly, beside those by groups filled up where they
		// stand, and all those at the end.
		whole, beside, all pods
	}{
		"running pods meet the minimum": {root: wants("a", 1, 5, "d1"), whole: pods{"a": 5}, beside: pods{"a": 5},
			all: pods{"a": 5}},
		"more pods than room in the rack of the running ones": {root: wants("a", 1, 6, "b1"), whole: pods{"a": 0},
			beside: pods{"a": 3}, all: pods{"a": 3}},
		"a group that needs none and stands nowhere": {root: atLeast(0, "", wants("a", 0, 6)), whole: pods{"a": 6},
			beside: pods{"a": 6}, all: pods{"a": 6}},
		"such a group for which there is no rack": {root: atLeast(0, "", wants("a", 0, 9)), whole: pods{"a": 0},
			beside: pods{"a": 0}, all: pods{"a": 8}},
		"below a parent that has no rack yet": {root: atLeast(1, "", atLeast(0, "rack", wants("a", 0, 4), wants("b", 0, 4))),
			whole: pods{"a": 4, "b": 4}, beside: pods{"a": 4, "b": 4}, all: pods{"a": 4, "b": 4}},
		"two that compete for the last room": {root: atLeast(2, "", wants("a", 1, 6, "d1"), wants("b", 1, 5, "d1")),
			whole: pods{"a": 6, "b": 0}, beside: pods{"a": 6, "b": 2}, all: pods{"a": 6, "b": 2}},
		"pods of two kinds, one of which has too little room left": {
			root: problem.Group{Name: "a", Constraint: inHall("rack", ""), Running: []string{"d1"}, MinMember: 1,
				Pending: []problem.Pods{ofGPU("large", 1, 3), ofGPU("small", 6, 1)}},
			whole: pods{"a": 0}, beside: pods{"a": 6}, all: pods{"a": 6},
		},
		"a group beyond the minimum of its parent": {root: atLeast(1, "", wants("a", 2, 2), wants("b", 8, 8)),
			whole: pods{"a": 2, "b": 8}, beside: pods{"a": 2, "b": 8}, all: pods{"a": 2, "b": 8}},
		"a group whose minimum has no room": {root: atLeast(0, "", wants("a", 3, 3, "b1"), wants("b", 7, 7, "c1")),
			whole: pods{"a": 3, "b": 0}, beside: pods{"a": 3, "b": 0}, all: pods{"a": 3, "b": 0}},
		"a group that follows others into a rack where its parent does not stand": {
			root: atLeast(1, "block", wants("a", 1, 2, "c1"), follower), whole: pods{"a": 2, "b": 0},
			beside: pods{"a": 2, "b": 0}, all: pods{"a": 2, "b": 0},
		},
		"a group moves to where there is more room": {root: wants("a", 2, 9), whole: pods{"a": 2}, beside: pods{"a": 2},
			all: pods{"a": 8}},
	} {
		t.Run(name, func(t *testing.T) {
			c := fourRacks(t)
			free, d := freeIn(c), begun(t, c, test.root)
			for _, step := range []struct {
				name string
				take func()
				want pods
			}{{"whole groups", d.wholeBeside, test.whole}, {"beside", d.growBeside, test.beside}, {"all", d.grow, test.all}} {
				step.take()
				if diff := cmp.Diff(step.want, d.placed(t)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", step.name, diff)
				}
			}
			if !cmp.Equal(free, freeIn(c)) {
				t.Error("something is left on nodes")
			}
		})
	}
}

func TestAGroupThatLacksItsMinimumOrItsDomainIsAbsent(t *testing.T) {
	root := atLeast(0, "", wants("stands", 1, 2), wants("runs", 1, 2, "d1"), wants("needs none", 0, 2),
		wants("lacks", 5, 5, "c1"), problem.Group{Name: "anywhere", Pending: []problem.Pods{ofGPU("anywhere", 2, 1)}}, problem.Group{Name: "outer",
			Constraint: inHall("block", ""), Children: []problem.Group{wants("inner", 0, 1)}})
	d := begun(t, fourRacks(t), root)
	found := d.with(1, 0, 1) // "stands" has one pod.
	if !d.greedily(found) {
		t.Fatal("one pod has no place")
	}
	b := &besides{newPlacer(d.Trial, d.largest), d.P.Ledger(d.Found), d.P.Meeting(d.Chosen.Want), nil}
	got := map[string]bool{}
	for i := range d.P.Groups {
		got[d.P.Groups[i].Source.Name] = b.absent(i)
	}
	want := map[string]bool{"parent": false, "stands": false, "runs": false, "needs none": true, "lacks": true,
		"anywhere": false, "outer": true, "inner": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("absent (-want +got):\n%s", diff)
	}
}

func TestALeafMayHaveAsManyPodsAsItsRoomiestDomainTakes(t *testing.T) {
	for name, test := range map[string]struct {
		root problem.Group
		want int64
	}{
		"a leaf that goes anywhere":        {problem.Group{Name: "g", Pending: []problem.Pods{ofGPU("g", 30, 1)}}, 22},
		"a leaf in any rack":               {wants("g", 0, 30), 8},
		"a leaf in the rack where it runs": {wants("g", 0, 30, "b1"), 3},
		"a leaf in a rack of a block": {atLeast(1, "block", wants("g", 0, 30), problem.Group{Name: "r", Running: []string{"a1"}}),
			4},
		"a leaf in the block of its parent": {atLeast(1, "block", problem.Group{Name: "g", Pending: []problem.Pods{ofGPU("g", 30, 1)}},
			problem.Group{Name: "r", Running: []string{"a1"}}), 7},
	} {
		t.Run(name, func(t *testing.T) {
			d := begun(t, fourRacks(t), test.root)
			leaf := slices.IndexFunc(d.P.Groups, func(g problem.Subgroup) bool { return g.Source.Name == "g" })
			if got := d.mostOf(leaf, 0); got != test.want {
				t.Errorf("%d pods, want %d", got, test.want)
			}
		})
	}
}

// TestASearchForSomethingBetterThatEndsEarlySaysSo takes some steps of a budget of 1000, 200 of which are left to it
// beside what it takes to place each pod twice.
func TestASearchForSomethingBetterThatEndsEarlySaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		own, takes int
		given      bool
		optimal    bool
	}{
		"it comes to its end":                 {own: 100, takes: 300, optimal: true},
		"it takes more than it has":           {own: 100, takes: 450},
		"a smaller allowance ends it earlier": {own: 10, takes: 300},
		"something was given up before":       {own: 100, takes: 10, given: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Search{Trial: &problem.Trial{Allowance: 100}, Optimal: !test.given}
			d.Limit = 1000
			d.within(test.own, 4, func() { // (1000 - 2*100) / 4 = 200
				if limit := 200 + 2*test.own; d.Limit != limit {
					t.Errorf("%d steps are left to it, want %d", d.Limit, limit)
				}
				d.Steps += test.takes
			})
			if d.Optimal != test.optimal || d.Limit != 1000 || d.Steps != test.takes {
				t.Errorf("optimal %v, want %v; limit %d, %d steps", d.Optimal, test.optimal, d.Limit, d.Steps)
			}
		})
	}
}

package search

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/internal/problem"
)

// where has by leaf the racks in which pods were placed, one for each pod.
func where(tr *problem.Trial, placed []problem.Placement) map[string][]string {
	at := map[string][]string{}
	for _, pl := range placed {
		name := tr.P.Groups[pl.Leaf].Source.Name
		for range pl.Pods {
			at[name] = append(at[name], tr.P.Cluster.PathOf("hall", tr.P.Cluster.NodeName(pl.Node)).String())
		}
	}
	for _, racks := range at {
		slices.Sort(racks)
	}
	return at
}

// TestWherePreferredDomainsLeaveNoRoomAGangIsPlacedWithoutThem: two pods go to the tighter rack if they prefer one, and
// leave no node for the large pod; without a preference they go to the tighter node.
func TestWherePreferredDomainsLeaveNoRoomAGangIsPlacedWithoutThem(t *testing.T) {
	tight := map[string]spot{"a1": {"x", "a", 3}, "b1": {"x", "b", 2}, "b2": {"x", "b", 1}, "b3": {"x", "b", 1}}
	roomy := map[string]spot{"a1": {"x", "a", 3}, "b1": {"x", "b", 2}, "b2": {"x", "b", 1}, "c1": {"x", "c", 3}}
	for name, test := range map[string]struct {
		spots     map[string]spot
		preferred string
		further   int
		// greedily says whether it is placed with preferred levels, and honoured are the racks then.
		greedily bool
		honoured map[string][]string
		// indifferently says whether it is placed without preferred levels, and racks where then.
		indifferently bool
		racks         map[string][]string
	}{
		"there is room": {spots: roomy, preferred: "rack", greedily: true, indifferently: true,
			honoured: map[string][]string{"two": {"x/a", "x/a"}, "large": {"x/c"}},
			racks:    map[string][]string{"two": {"x/b", "x/b"}, "large": {"x/a"}}},
		"there is none": {spots: tight, preferred: "rack", indifferently: true,
			racks: map[string][]string{"two": {"x/b", "x/b"}, "large": {"x/a"}}},
		"there is none, and pods are left that need none": {spots: tight, preferred: "rack", further: 5,
			indifferently: true, racks: map[string][]string{"two": {"x/b", "x/b"}, "large": {"x/a"}}},
		"nothing is preferred": {spots: tight, greedily: true,
			honoured: map[string][]string{"two": {"x/b", "x/b"}, "large": {"x/a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			two := problem.Group{Name: "two", Constraint: inHall("", test.preferred), MinMember: 2, Pending: []problem.Pods{ofGPU("two", 2, 1)}}
			large := problem.Group{Name: "large", MinMember: 1, Pending: []problem.Pods{ofGPU("large", 1, 3)}}
			further := problem.Group{Name: "further", Pending: []problem.Pods{ofGPU("further", test.further, 1)}}
			d := begun(t, smallHall(t, test.spots), problem.Group{Name: "gang", Children: []problem.Group{two, large, further}})
			want := slices.Clone(d.P.Pending)
			clear(d.P.Wants(want, 3))
			s := d.P.NewSelection(want)
			if got := d.greedily(s); got != test.greedily {
				t.Errorf("greedily %v, want %v", got, test.greedily)
			}
			if diff := cmp.Diff(test.honoured, where(d.Trial, d.Found)); test.greedily && diff != "" {
				t.Errorf("racks by preference (-want +got):\n%s", diff)
			}
			d.Limit = d.Steps + 600
			d.Chosen, d.Found = nil, nil
			before, limit := d.Steps, d.Limit
			if got := d.indifferently(s); got != test.indifferently {
				t.Errorf("without preferred levels %v, want %v", got, test.indifferently)
			}
			if d.Limit != limit || d.Steps < before || d.Steps > before+100 {
				t.Errorf("%d steps, limit %d, after %d and %d", d.Steps, d.Limit, before, limit)
			}
			if !test.indifferently {
				return
			}
			if diff := cmp.Diff(test.racks, where(d.Trial, d.Found)); diff != "" {
				t.Errorf("racks (-want +got):\n%s", diff)
			}
			if d.Chosen != s || len(d.Trail) > 0 {
				t.Error("it is not kept, or something is left")
			}
		})
	}
}

// TestGroupsThatMustGoWhereTheirPodsRunComeFirst, in racks that the gang uses.
func TestGroupsThatMustGoWhereTheirPodsRunComeFirst(t *testing.T) {
	loose := problem.Group{Name: "loose", MinMember: 6, Pending: []problem.Pods{ofGPU("loose", 6, 1)}}
	bound := func(pods int) problem.Group {
		return problem.Group{Name: "bound", Constraint: inHall("block", ""), Running: []string{"full"}, MinMember: pods + 1,
			Pending: []problem.Pods{ofGPU("bound", pods, 1)}}
	}
	other := problem.Group{Name: "other", Running: []string{"d1"}, MinMember: 1}
	halls := map[string]spot{"full": {"y", "full", 0}, "a1": {"x", "a", 4}, "b1": {"x", "b", 4}}
	for name, test := range map[string]struct {
		c, d     int64
		children []problem.Group
		// bound are the racks of those that must stay in their block.
		bound []string
	}{
		"others would take their room": {c: 5, d: 5, children: []problem.Group{loose, bound(6)},
			bound: []string{"y/c", "y/c", "y/c", "y/c", "y/c", "y/d"}},
		"in the rack where other pods of the gang run": {c: 3, d: 5, children: []problem.Group{loose, bound(3), other},
			bound: []string{"y/d", "y/d", "y/d"}},
		"below a group that may go anywhere": {c: 3, d: 5, bound: []string{"y/d", "y/d", "y/d"},
			children: []problem.Group{loose, {Name: "outer", Children: []problem.Group{bound(3)}}, other}},
		"where no pods of the gang run, in the tightest": {c: 3, d: 5, children: []problem.Group{loose, bound(3)},
			bound: []string{"y/c", "y/c", "y/c"}},
	} {
		t.Run(name, func(t *testing.T) {
			halls["c1"], halls["d1"] = spot{"y", "c", test.c}, spot{"y", "d", test.d}
			g := stated(t, smallHall(t, halls), problem.Group{Name: "gang", Constraint: inHall("", "rack"), Children: test.children})
			if !g.whole(0, problem.WholeCluster) {
				t.Fatal("no place is found")
			}
			if diff := cmp.Diff(test.bound, where(g.Trial, g.Trail)["bound"]); diff != "" {
				t.Errorf("racks (-want +got):\n%s", diff)
			}
		})
	}
}

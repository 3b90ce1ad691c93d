package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		// bound are the racks of the pods that must stay in their block.
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
			require.True(t, g.whole(0, problem.WholeCluster), "no place is found")
			assert.Empty(t, cmp.Diff(test.bound, where(g.Trial, g.Trail)["bound"]), "racks (-want +got)")
		})
	}
}

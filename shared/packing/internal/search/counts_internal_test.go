package search

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// TestSparseCountsFollow changes what fits on single nodes and asks for domains of one level and
// another: what a domain has is always the sum over its nodes.
func TestSparseCountsFollow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	c := hall(t)
	gang := &problem.Gang{Root: problem.Group{Name: "g", Pending: []problem.Pods{{Names: []string{"p"}, Shape: counts.Shape{Key: "sparse",
		Requests: counts.Resources{"gpu": 1}, Only: someNodesOf(random, 64)}}}}}
	p, err := problem.New(c, gang)
	require.NoError(t, err)
	slot, _ := c.SlotOf("hall")
	sparse := p.Shapes[0].Sparse
	require.NotNil(t, sparse, "counts of all nodes for a pod that may use 64")
	topology := c.Topologies[slot]
	for range 400 {
		at := random.IntN(len(sparse.Nodes))
		sparse.Set(sparse.Nodes[at], int32(random.IntN(5)))
		sparse.Set(299-sparse.Nodes[at], sparse.On(299-sparse.Nodes[at])) // a node that may not be its own
		if sparse.Nodes[at]%2 == 0 {
			sparse.SetAt(int32(at), 0)
		}
		level := random.IntN(2)
		want, has := map[int32]int64{}, map[int32]int64{}
		for i, node := range sparse.Nodes {
			if home := topology.DomainOf(node, level); home != counts.None && sparse.Fits[i] > 0 {
				want[home] += int64(sparse.Fits[i])
			}
		}
		sparse.Domains(topology, counts.Whole, level, func(domain int32) bool {
			has[domain] = sparse.In(topology, domain)
			sparse.In(topology, topology.Domains[domain].Parent) // asks for another level
			return true
		})
		require.Empty(t, cmp.Diff(want, has), "what fits in domains of level %d (-sum of nodes +count)", level)
	}
}

// TestSharesFollow places pods of unlike kinds in one domain after the other. What each of the
// others takes is as if it had been asked anew.
func TestSharesFollow(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		c, gang := hall(t), &problem.Gang{Root: problem.Group{Name: "g", Constraint: problem.Constraint{Topology: "hall", Preferred: "rack"}}}
		for k := range 12 {
			shape := counts.Shape{Key: fmt.Sprint("kind-", k), Requests: counts.Resources{"gpu": int64(1 + k%2)}}
			if k%3 > 0 {
				shape.Only = someNodesOf(random, 8)
			}
			gang.Root.Pending = append(gang.Root.Pending, problem.Pods{Shape: shape, Names: make([]string, 1+random.IntN(6))})
		}
		p, err := problem.New(c, gang)
		require.NoError(t, err)
		d := &Search{Trial: &problem.Trial{P: p}}
		d.Limit = 1 << 30
		g := newPlacer(d.Trial, p.Largest())
		rest := append([]int32(nil), g.s.Want...)
		s, used := g.newShares(0, p.DomainsIn(problem.WholeCluster, p.Groups[0].Slot, p.Groups[0].Preferred), rest), map[int]bool{}
		for range 8 {
			if next := s.next(int64(p.Total(rest, 0))); next != counts.None {
				left := p.Total(rest, 0)
				if pods := s.use(next, rest); pods != int64(left-p.Total(rest, 0)) {
					t.Fatalf("seed %d: %d pods are said to be placed, and of %d there are %d", seed, pods, left, p.Total(rest, 0))
				}
				used[next] = true
			}
			anew, now := map[int][2]int64{}, map[int][2]int64{}
			for k, fresh := 0, g.newShares(0, s.units, rest); k < len(s.units); k++ {
				if s.takes[k] > 0 && used[k] {
					t.Fatalf("seed %d: domain %d is used, and takes %d", seed, k, s.takes[k])
				}
				if !used[k] {
					anew[k], now[k] = [2]int64{fresh.takes[k], fresh.fit[k]}, [2]int64{s.takes[k], s.fit[k]}
				}
			}
			require.True(t, maps.Equal(anew, now),
				"seed %d: domains take (-asked anew +followed):\n%s", seed, cmp.Diff(anew, now))
		}
	}
}

// The unit that takes most is found without a look at those before it: whatever order units
// become full in, it is the one that a look at all would find.
func TestTheRoomiestUnitIsFoundAgainAndAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 25))
	for range 200 {
		s := &shares{takes: make([]int64, 1+random.IntN(40))}
		for unit := range s.takes {
			s.takes[unit] = random.Int64N(6)
		}
		from := random.IntN(len(s.takes))
		some := span{from: from, to: from + random.IntN(len(s.takes)-from+1), top: math.MaxInt64}
		for {
			want, most := counts.None, int64(0)
			for unit := some.from; unit < some.to; unit++ {
				if s.takes[unit] > most {
					want, most = unit, s.takes[unit]
				}
			}
			require.Equal(t, want, s.roomiest(&some), "%v from %d to %d: unit", s.takes, some.from, some.to)
			if want == counts.None {
				break
			}
			s.takes[want] -= 1 + random.Int64N(s.takes[want]+1) // below 0 where it was full already
			if other := random.IntN(len(s.takes)); s.takes[other] > 0 {
				s.takes[other]--
			}
		}
	}
}

// TestWhatIsOnTrialAddsUp assigns pods to nodes, moves pods to make room, and removes pods in random order: after each
// step the free amounts, the fits of each kind and the pods on each node match the trail, and nothing is left at the
// end.
func TestWhatIsOnTrialAddsUp(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 8))
		c := hall(t)
		g := problem.Group{Name: "g"}
		for kind := range 3 + random.IntN(20) {
			g.Pending = append(g.Pending, problem.Pods{Names: []string{fmt.Sprint(kind, "-a"), fmt.Sprint(kind, "-b")}, Shape: counts.Shape{
				Key: fmt.Sprint(kind), Requests: counts.Resources{"gpu": int64(1 + kind%2)}, Only: someNodesOf(random, 1+random.IntN(6))}})
		}
		p, err := problem.New(c, &problem.Gang{Root: g})
		require.NoError(t, err)
		free := freeIn(c)
		tr := &problem.Trial{P: p, Top: slices.Repeat([]int32{counts.None}, c.Rows())}
		tr.Limit = 1 << 30
		greedy := newPlacer(tr, p.Largest())
		for range 200 {
			shape := random.IntN(len(p.Shapes))
			switch random.IntN(5) {
			case 0:
				tr.Undo(random.IntN(len(tr.Trail) + 1))
			case 1:
				greedy.vain = 0
				before := p.Capacity(problem.WholeCluster, shape)
				made := greedy.shift(shape, before+1, problem.WholeCluster)
				after := p.Capacity(problem.WholeCluster, shape)
				require.Equal(t, after > before, made, "room made for kind %d, of which %d fitted and %d do", shape, before, after)
			default:
				greedy.pack(0, shape, 1, problem.WholeCluster)
			}
			checkTrial(t, tr, free)
		}
		tr.Undo(0)
		require.True(t, cmp.Equal(free, freeIn(c)), "something is left")
	}
}

// checkTrial compares what a trial keeps with its trail.
func checkTrial(t *testing.T, tr *problem.Trial, free [][]int64) {
	t.Helper()
	c, left := tr.P.Cluster, make([][]int64, len(free))
	for node := range left {
		left[node] = slices.Clone(free[node])
	}
	on := make([][]int32, c.Rows())
	for at, pl := range tr.Trail {
		on[pl.Node] = append(on[pl.Node], int32(at))
		shape := tr.P.Shapes[pl.Shape]
		require.True(t, shape.Filter.Has(pl.Node), "kind %d is on a node that it may not use", pl.Shape)
		for _, q := range shape.Requests {
			left[pl.Node][q.Resource] -= q.Amount * int64(pl.Pods)
		}
	}
	if !cmp.Equal(left, freeIn(c)) || slices.ContainsFunc(left, func(row []int64) bool { return slices.Min(row) < 0 }) {
		t.Fatal("what is free is not what the trail leaves")
	}
	for node, want := range on {
		var got []int32
		for at := tr.Top[node]; at != counts.None; at = tr.Trail[at].Below {
			got = append(got, at)
		}
		if slices.Reverse(got); !slices.Equal(got, want) {
			t.Fatalf("placements %v are on node %d, want %v", got, node, want)
		}
	}
	for k, s := range tr.P.Shapes {
		sum := int64(0)
		for at, node := range s.Sparse.Nodes {
			fit := counts.Fitting(c.FreeOn(node), s.Requests)
			require.Equal(t, fit, s.Sparse.Fits[at], "%d of kind %d fit on a node, counted are %d", fit, k, s.Sparse.Fits[at])
			sum += int64(s.Sparse.Fits[at])
		}
		require.Equal(t, s.Sparse.Total, sum, "%d of kind %d fit, counted are %d", sum, k, s.Sparse.Total)
	}
}

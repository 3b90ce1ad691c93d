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

// TestWhatIsOnTrialAddsUp puts pods on nodes, makes room for others and takes some off again, in random order: what is
// free, what fits of each kind and who is on each node are always what the trail says, and nothing is left at the end.
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
		if err != nil {
			t.Fatal(err)
		}
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
				if after := p.Capacity(problem.WholeCluster, shape); made != (after > before) {
					t.Fatalf("room made for kind %d: %v, of which %d fitted and %d do", shape, made, before, after)
				}
			default:
				greedy.pack(0, shape, 1, problem.WholeCluster)
			}
			checkTrial(t, tr, free)
		}
		tr.Undo(0)
		if !cmp.Equal(free, freeIn(c)) {
			t.Fatal("something is left")
		}
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
		if !shape.Filter.Has(pl.Node) {
			t.Fatalf("kind %d is on a node that it may not use", pl.Shape)
		}
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
			if fit := counts.Fitting(c.FreeOn(node), s.Requests); s.Sparse.Fits[at] != fit {
				t.Fatalf("%d of kind %d fit on a node, counted are %d", fit, k, s.Sparse.Fits[at])
			}
			sum += int64(s.Sparse.Fits[at])
		}
		if sum != s.Sparse.Total {
			t.Fatalf("%d of kind %d fit, counted are %d", sum, k, s.Sparse.Total)
		}
	}
}

package hostile_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/hostile"
)

func pods(g *packing.Group) int {
	sum := 0
	for _, p := range g.Pending {
		sum += len(p.Names)
	}
	for i := range g.Children {
		sum += pods(&g.Children[i])
	}
	return sum
}

// small has the shape of a case, and few nodes and pods.
func small(c hostile.Case) hostile.Case {
	c.Nodes, c.Pods, c.Kinds, c.Groups, c.Inner = min(c.Nodes, 20), min(c.Pods, 12), min(c.Kinds, 5),
		min(c.Groups, 3), min(c.Inner, 2)
	return c
}

func TestCasesAreWithinBoundsAndValid(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		c := hostile.Draw(random)
		if c.Nodes < 1 || c.Nodes > hostile.MaxNodes || c.Pods < 1 || c.Pods > hostile.MaxPods ||
			max(1, c.Groups)*max(1, c.Inner) > hostile.MaxPods {
			t.Fatalf("out of bounds: %+v", c)
		}
		if gang := c.Gang(); pods(&gang.Root) > hostile.MaxPods {
			t.Fatalf("%d pods: %+v", pods(&gang.Root), c)
		}
		c = small(c)
		if d := c.Cluster().Decide(c.Gang(), packing.Options{}); d.Verdict == packing.Invalid {
			t.Fatalf("%s: %+v", d.Message(), c)
		}
	}
}

func TestACaseThatWasWrittenDownIsTheSameAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 1))
	for range 50 {
		c := small(hostile.Draw(random))
		written, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var read hostile.Case
		if err := json.Unmarshal(written, &read); err != nil {
			t.Fatal(err)
		}
		want, got := c.Cluster().Decide(c.Gang(), packing.Options{}), read.Cluster().Decide(read.Gang(), packing.Options{})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: another answer (-want +got):\n%s", written, diff)
		}
	}
}

func TestGangsOfOneGroundHaveEqualClusters(t *testing.T) {
	c := small(hostile.Draw(rand.New(rand.NewPCG(3, 1))))
	other := c
	other.Pods, other.Filter, other.Leaf = 1, "one", 2
	if c.Ground() != other.Ground() {
		t.Error("the gang counts for the ground")
	}
	other.Nodes++
	if c.Ground() == other.Ground() {
		t.Error("the number of nodes does not count for the ground")
	}
}

func TestASearchClimbs(t *testing.T) {
	s := &hostile.Search{Random: rand.New(rand.NewPCG(4, 1)),
		Judge: func(c hostile.Case) float64 { return float64(c.Groups) }}
	for range 3 {
		left := 2_000
		s.Climb(func() bool { left--; return left > 0 })
	}
	if len(s.Finds) != 3 {
		t.Fatalf("%d finds of 3 climbs", len(s.Finds))
	}
	if s.Finds[0].Case.Groups < hostile.MaxPods/2 {
		t.Errorf("the worst has %d groups, although up to %d are allowed", s.Finds[0].Case.Groups, hostile.MaxPods)
	}
	for i := 1; i < len(s.Finds); i++ {
		if s.Finds[i].Score > s.Finds[i-1].Score {
			t.Error("the worst is not first")
		}
	}
}

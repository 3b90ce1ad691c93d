package packing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// workers makes subgroups of equal pods, each with a minimum and more pods.
func workers(groups, minimum, pods int, c packing.Constraint) []packing.Group {
	var result []packing.Group
	for i := range groups {
		name := fmt.Sprint("workers-", i)
		result = append(result, packing.Group{
			Name: name, MinMember: minimum, Constraint: c,
			Pending: []packing.Pods{{Shape: worker("worker"), Names: podNames(name, pods)}},
		})
	}
	return result
}

// mixed is one leaf with pods of four shapes.
func mixed(minimum, each int) packing.Group {
	g := packing.Group{Constraint: in("block"), MinMember: minimum}
	for i, gpus := range []int64{1, 2, 3, 5} {
		key := fmt.Sprint("mixed-", gpus)
		g.Pending = append(g.Pending, packing.Pods{
			Shape: packing.Shape{Key: key, Requests: packing.Resources{"nvidia.com/gpu": gpus,
				"cpu": 1000 * int64(4-i)}},
			Names: podNames(key, each),
		})
	}
	return g
}

func TestLargeGangsAreDecidedWithinTheBudget(t *testing.T) {
	var unequal []packing.Group
	for i := range 64 {
		unequal = append(unequal, workers(1, 50+i/2, 50+i/2, in("rack"))[0])
	}
	prefer := func(required, preferred string) packing.Constraint {
		return packing.Constraint{Topology: "yard", Required: required, Preferred: preferred}
	}
	c := newYard(t, 10_000, 50)
	for name, tc := range map[string]struct {
		root packing.Group
		want packing.Verdict
		// placed is the least number of pods to be placed.
		placed int
	}{
		"64 elastic leaves on hosts": {packing.Group{Constraint: in("block"), Children: workers(64, 4, 8,
			in("host"))}, packing.Placed, 512},
		"one elastic leaf larger than any block": {workers(1, 1, 20_000, in("block"))[0], packing.Placed, 5_000},
		"512 leaves on hosts anywhere": {packing.Group{Children: workers(512, 8, 8, in("host"))},
			packing.Placed, 4096},
		"no constraint": {workers(1, 4096, 4096, packing.Constraint{})[0], packing.Placed,
			4096},
		"a preferred rack that cannot be": {workers(1, 512, 512, prefer("block", "rack"))[0], packing.Placed,
			512},
		"preferred blocks of preferred racks": {packing.Group{Constraint: prefer("", "block"), Children: workers(40,
			60, 60, prefer("", "rack"))}, packing.Placed, 2400},
		"32 of 64 unequal groups": {packing.Group{MinSubGroups: least(32), Children: unequal},
			packing.Placed, 4192},
		"64 unequal groups in one block": {packing.Group{Constraint: in("block"), Children: unequal},
			packing.Placed, 4192},
		"four shapes": {mixed(700, 175), packing.Placed, 700},
		"four shapes that are too much for any block": {mixed(2800, 700), packing.Infeasible, 0},
		"four elastic shapes":                         {mixed(700, 700), packing.Placed, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.Decide(&packing.Gang{Root: tc.root}, packing.Options{})
			if d.Verdict != tc.want || d.Groups[0].Placed < tc.placed || d.Steps > packing.DefaultBudget {
				t.Errorf("%s with %d pods after %d steps: %s", d.Verdict, d.Groups[0].Placed, d.Steps, d.Message())
			}
		})
	}
}

// What the benchmarks measure: benchSizes are nodes of a yard, and nestedGangs are numbers of pods
// in one that is full to so many hundredths.
var (
	benchSizes  = []int{5_000, 10_000, 40_000, 100_000}
	nestedGangs = []struct {
		fill, pods int
		want       packing.Verdict
	}{{0, 1024, packing.Placed}, {0, 4096, packing.Placed}, {50, 1024, packing.Placed}, {50, 4096, packing.Infeasible}}
)

// However many nodes there are, a certificate is found where nested gangs do not fit.
func TestNestedGangsAreDecidedInClustersOfAnySize(t *testing.T) {
	for _, n := range benchSizes {
		for _, g := range nestedGangs {
			d := newYard(t, n, g.fill).Decide(nested(g.pods), packing.Options{})
			assert.Equal(t, g.want, d.Verdict, "%d pods on %d nodes, filled to %d %%: %s", g.pods, n, g.fill, d.Message())
		}
	}
}

func TestALargeClusterIsSearchedForTheFewestRacks(t *testing.T) {
	c := newYard(t, 10_000, 50)
	gang := flat(500, "block")
	gang.Root.Constraint.Preferred = "rack"
	d := c.Decide(gang, packing.Options{})
	tightest := c.Decide(flat(500, "block"), packing.Options{})
	require.Equal(t, packing.Placed, d.Verdict, d.Message())
	with, without := len(paths(d.Groups[0], "rack")), len(paths(tightest.Groups[0], "rack"))
	assert.LessOrEqual(t, with, 6, "%d racks with a preference, %d without", with, without)
	assert.LessOrEqual(t, with, without, "%d racks with a preference, %d without", with, without)
}

// The budget that solves nearly all is the default one.
func TestHardGangsAreSolved(t *testing.T) {
	solved := 0
	const tries = 60
	for seed := range uint64(tries) {
		c, gang := hardInstance(t, seed, 95)
		if d := c.Decide(gang, packing.Options{}); d.Verdict == packing.Placed {
			solved++
		} else if d.Verdict != packing.Unknown {
			t.Errorf("seed %d: %s, although a placement exists", seed, d.Verdict)
		}
	}
	assert.GreaterOrEqual(t, solved, tries*99/100, "solved of %d", tries)
}

// fewestUnits is how many units of a level the pods of a gang need in the best domain that it may require, by the room
// in each unit.
func fewestUnits(rooms map[string][]int, pods int) int {
	best := math.MaxInt
	for _, units := range rooms {
		slices.Sort(units)
		left, used := pods, 0
		for k := len(units) - 1; k >= 0 && left > 0; k-- {
			left -= units[k]
			used++
		}
		if left <= 0 {
			best = min(best, used)
		}
	}
	return best
}

// Whatever a gang of alike pods requires, it gets the fewest domains that it prefers, in a cluster too large for an
// exact search, too.
func TestAlikePodsUseTheFewestPreferredDomains(t *testing.T) {
	const nodes = 10_000
	random := rand.New(rand.NewPCG(0, 5))
	c := newYard(t, nodes, 0)
	free, labels := make([]int, nodes), make([]map[string]string, nodes)
	for i := range free {
		labels[i], free[i] = yardNode(i).Labels, random.IntN(podsPerNode+1)
		for k := free[i]; k < podsPerNode; k++ {
			c.Assign(packing.Pod{ID: fmt.Sprint(i, "/", k), Node: yardNodeName(i), Requests: workerRequests})
		}
	}
	for _, levels := range [][2]string{{"rack", "host"}, {"block", "host"}, {"block", "rack"}, {"", "host"}, {"", "rack"}} {
		rooms := map[string][]int{}
		for i := 0; i < nodes; {
			required, unit, room := labels[i]["block"]+labels[i]["rack"], labels[i][levels[1]], 0
			if levels[0] != "rack" {
				required = labels[i][levels[0]]
			}
			for ; i < nodes && labels[i][levels[1]] == unit; i++ {
				room += free[i]
			}
			rooms[required] = append(rooms[required], room)
		}
		for _, pods := range []int{1, 9, 40, 75, 300, 3_000} {
			gang := flat(pods, levels[0])
			gang.Root.Constraint.Preferred = levels[1]
			want, d := fewestUnits(rooms, pods), c.Decide(gang, packing.Options{Terse: true})
			if placed := d.Verdict == packing.Placed; placed != (want < math.MaxInt) || placed && d.Groups[0].Used != want {
				t.Errorf("%d pods, %q: %s with %d units, want %d", pods, levels, d.Verdict, d.Groups[0].Used, want)
			}
		}
	}
}

// A gang in hundreds of domains has them named in their order, also after nodes came and went.
func TestManyDomainsAreNamedInOrder(t *testing.T) {
	c := newYard(t, 1_000, 50)
	for _, change := range []func(){
		func() {}, func() { c.RemoveNode(yardNodeName(17)) }, func() { c.SetNode(yardNode(1_000)) },
	} {
		change()
		d := c.Decide(flat(2_000, "block"), packing.Options{})
		hosts := d.Groups[0].Domains[2].Paths
		if d.Verdict != packing.Placed || len(hosts) < 256 || !slices.IsSortedFunc(hosts, slices.Compare[packing.Path]) {
			t.Errorf("%s on %d hosts: %v", d.Verdict, len(hosts), hosts)
		}
	}
}

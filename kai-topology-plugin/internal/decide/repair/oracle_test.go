package repair_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// puzzle is a small cluster with one gang in one zone. It has two subgroups, each in one rack.
type puzzle struct {
	// nodes are by name, with how many devices are free of others.
	nodes []string
	free  map[string]int
	// sizes are the devices of a pod of each subgroup, and on are the nodes of its pods.
	sizes [2]int
	on    [2][]string
}

func zoneOf(node string) string { zone, _, _ := strings.Cut(node, "-"); return zone }
func rackOf(node string) string { return node[:strings.LastIndex(node, "-")] }

func drawPuzzle(t *rapid.T) *puzzle {
	p := &puzzle{free: map[string]int{}}
	for zone := range rapid.IntRange(1, 2).Draw(t, "zones") {
		for rack := range rapid.IntRange(1, 3).Draw(t, "racks") {
			for n := range rapid.IntRange(1, 3).Draw(t, "nodes") {
				name := fmt.Sprintf("z%d-r%d-n%d", zone, rack, n)
				p.nodes = append(p.nodes, name)
				p.free[name] = rapid.IntRange(1, 4).Draw(t, "devices")
			}
		}
	}
	zone := zoneOf(rapid.SampledFrom(p.nodes).Draw(t, "zone of the gang"))
	for s := range p.on {
		p.sizes[s] = rapid.IntRange(1, 2).Draw(t, "size")
		inZone := slices.DeleteFunc(slices.Clone(p.nodes), func(node string) bool { return zoneOf(node) != zone })
		rack := rackOf(rapid.SampledFrom(inZone).Draw(t, "rack"))
		for range rapid.IntRange(1, 3).Draw(t, "pods") {
			for _, node := range p.nodes {
				if rackOf(node) == rack && p.free[node] >= p.sizes[s] {
					p.free[node] -= p.sizes[s]
					p.on[s] = append(p.on[s], node)
					break
				}
			}
		}
	}
	return p
}

// manifests has what is free beside the gang as free as it is, by making nodes just as large.
func (p *puzzle) manifests() string {
	size := map[string]int{}
	for s, on := range p.on {
		for _, node := range on {
			size[node] += p.sizes[s]
		}
	}
	text := topology
	for _, name := range p.nodes {
		text += node(name, size[name]+p.free[name])
	}
	text += podGroup("g", fmt.Sprintf("subGroups: [{name: a, minMember: %d, %s}, {name: b, minMember: %d, %[2]s}], %[4]s", len(p.on[0]), oneRack, len(p.on[1]), oneZone))
	return text + pods("g", "a", p.sizes[0], p.on[0]...) + pods("g", "b", p.sizes[1], p.on[1]...)
}

// leastMoved tries every placement of the pods that may move: how many move at least, and false if nothing helps. A
// subgroup moves as a whole.
func (p *puzzle) leastMoved(failed []string) (least int, mended bool) {
	least = math.MaxInt
	for choice := range 4 {
		moves := [2]bool{choice&1 != 0, choice&2 != 0}
		free, placed := map[string]int{}, [2][]string{}
		for node, amount := range p.free {
			if !slices.Contains(failed, node) {
				free[node] = amount
			}
		}
		moved, useless := 0, false
		for s, on := range p.on {
			hit := slices.ContainsFunc(on, func(node string) bool { return slices.Contains(failed, node) })
			useless = useless || moves[s] && !hit && !moves[1-s]
			for _, node := range on {
				switch {
				case slices.Contains(failed, node):
				case moves[s]:
					free[node] += p.sizes[s]
					moved++
				default:
					placed[s] = append(placed[s], node)
				}
			}
		}
		if !useless && moved < least && p.fits(free, placed) {
			least, mended = moved, true
		}
	}
	return least, mended
}

// fits places the next pod that has no node, on each node in turn.
func (p *puzzle) fits(free map[string]int, placed [2][]string) bool {
	for s := range placed {
		if len(placed[s]) == len(p.on[s]) {
			continue
		}
		for node, amount := range free {
			sameRack := len(placed[s]) == 0 || rackOf(placed[s][0]) == rackOf(node)
			other := placed[1-s]
			sameZone := len(other) == 0 || zoneOf(other[0]) == zoneOf(node)
			if amount < p.sizes[s] || !sameRack || !sameZone {
				continue
			}
			free[node] -= p.sizes[s]
			next := placed
			next[s] = append(slices.Clone(placed[s]), node)
			found := p.fits(free, next)
			free[node] += p.sizes[s]
			if found {
				return true
			}
		}
		return false
	}
	return true
}

func TestAsFewPodsMoveAsPossible(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPuzzle(r)
		if len(p.on[0]) == 0 || len(p.on[1]) == 0 {
			r.Skip("a subgroup without pods needs none")
		}
		cluster := read(t, p.manifests())
		domains := map[string]bool{}
		for _, node := range p.nodes {
			domains[node], domains[zoneOf(node)], domains[strings.Replace(rackOf(node), "-", "/", 1)] = true, true, true
		}
		for domain := range domains {
			failed := nodesOf(cluster, domain)
			losses, err := repair.Without(t.Context(), cluster, failed)
			require.NoError(r, err)
			want, got := "untouched", "untouched"
			if slices.ContainsFunc(slices.Concat(p.on[0], p.on[1]), func(node string) bool { return slices.Contains(failed, node) }) {
				want = "no place"
				if least, mended := p.leastMoved(failed); mended {
					want = fmt.Sprint("repaired, moving ", least)
				}
			}
			if len(losses) > 0 {
				got = "no place"
				if losses[0].Plan.Reason != scheduling.ReasonNoPlace {
					got = fmt.Sprint("repaired, moving ", podsOf(losses[0].Plan))
				}
			}
			require.Equal(r, want, got, "%s\n%s", domain, p.manifests())
		}
	})
}

func podsOf(plan repair.Plan) (count int) {
	for _, move := range plan.Relocations {
		count += move.Pods
	}
	return count
}

package repair_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/repair"
)

func sparesOf(t testing.TB, cluster *inventory.Inventory) []string {
	t.Helper()
	forecaster, err := repair.New(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	spares, err := forecaster.Spares(t.Context(), repair.Failures(cluster))
	if err != nil {
		t.Fatal(err)
	}
	return spares
}

func TestSpares(t *testing.T) {
	racks := topology + nodes(4, "z-r1-n1", "z-r1-n2", "z-r1-n3", "z-r2-n1", "z-r2-n2", "z-r2-n3")
	for name, test := range map[string]struct {
		cluster string
		want    map[string]map[string]int
	}{
		"nobody needs any": {racks, map[string]map[string]int{}},
		"a gang that needs its rack needs one node there": {
			racks + podGroup("g", "minMember: 1, "+oneRack) + pods("g", "", 4, "z-r1-n1"),
			map[string]map[string]int{"l/zone": {"z": 1}, "l/rack": {"z/r1": 1}, corev1.LabelHostname: {"z-r1-n2": 1}},
		},
		"two gangs of one zone share one": {
			racks + podGroup("g", "minMember: 1, "+oneZone) + pods("g", "", 4, "z-r1-n1") + podGroup("h", "minMember: 1, "+oneZone) + pods("h", "", 4, "z-r2-n1"),
			map[string]map[string]int{"l/zone": {"z": 1}},
		},
		"two gangs of two racks do not, unless one of them may as well move": {
			racks + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r1-n2") + podGroup("h", "minMember: 1, "+oneRack) + pods("h", "", 4, "z-r2-n1"),
			map[string]map[string]int{"l/zone": {"z": 1}, "l/rack": {"z/r1": 1}, corev1.LabelHostname: {"z-r1-n3": 1}},
		},
		"room on nodes in use does as well": {
			racks + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 2, "z-r1-n1", "z-r1-n2"), map[string]map[string]int{},
		},
		"for those who cannot be helped nothing is kept": {
			racks + podGroup("g", "minMember: 3, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r1-n2", "z-r1-n3") + podGroup("h", "minMember: 1") + pods("h", "", 4, "z-r2-n1"),
			map[string]map[string]int{"l/zone": {"z": 1}, "l/rack": {"z/r2": 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := read(t, test.cluster)
			got := repair.SparesByDomain(cluster, sparesOf(t, cluster))
			for level, domains := range got {
				if test.want[level] == nil {
					t.Logf("%s: %v", level, domains)
					delete(got, level)
				}
			}
			if len(got) > 0 || len(test.want) > 0 {
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestNoSmallerSetOfSparesWillDo compares with all sets of empty nodes, by taking the others out of the cluster.
func TestNoSmallerSetOfSparesWillDo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPuzzle(r)
		if len(p.on[0]) == 0 || len(p.on[1]) == 0 {
			r.Skip("a subgroup without pods needs none")
		}
		all := outcomes(p, nil)
		var empty []string
		for _, name := range p.nodes {
			if !slices.Contains(slices.Concat(p.on[0], p.on[1]), name) {
				empty = append(empty, name)
			}
		}
		least := len(empty)
		for choice := range 1 << len(empty) {
			var kept, gone []string
			for i, name := range empty {
				if choice>>i&1 == 1 {
					kept = append(kept, name)
				} else {
					gone = append(gone, name)
				}
			}
			if len(kept) < least && slices.Equal(outcomes(p, gone), all) {
				least = len(kept)
			}
		}
		spares := sparesOf(t, read(t, p.manifests()))
		if len(spares) != least {
			r.Fatalf("%v, and %d are enough\n%s", spares, least, p.manifests())
		}
	})
}

// outcomes is how bad the failure of each node is for which pods stand, without some others.
func outcomes(p *puzzle, gone []string) (bad []string) {
	without := *p
	without.free = map[string]int{}
	for node, amount := range p.free {
		if !slices.Contains(gone, node) {
			without.free[node] = amount
		}
	}
	for _, node := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.on[0], p.on[1])))) {
		least, mended := without.leastMoved([]string{node})
		if !mended {
			least.Pods = -1
		}
		bad = append(bad, strings.Repeat("m", least.Pods+1))
	}
	return bad
}

package ranks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/ranks"
)

// pods are written in the order of their indices, each as kind:path, or only a path if it keeps its node.
func pods(written ...string) []ranks.Pod {
	var made []ranks.Pod
	for i, one := range written {
		kind, path, moves := strings.Cut(one, ":")
		if !moves {
			kind, path = "", one
		}
		made = append(made, ranks.Pod{Name: fmt.Sprint(i), Index: i, Kind: kind, Path: strings.Split(path, "/")})
	}
	return made
}

func paths(pods []ranks.Pod) []string {
	var written []string
	for _, pod := range pods {
		written = append(written, strings.Join(pod.Path, "/"))
	}
	return written
}

func TestArrange(t *testing.T) {
	for name, c := range map[string]struct{ pods, want []string }{
		"nobody": {},
		"in tree order": {[]string{"a:r2/n3", "a:r1/n1", "a:r2/n4", "a:r1/n2"},
			[]string{"r1/n1", "r1/n2", "r2/n3", "r2/n4"}},
		"a pod that differs": {[]string{"a:r1/n1", "b:r2/n3", "a:r2/n4", "a:r1/n2"},
			[]string{"r2/n4", "r2/n3", "r1/n2", "r1/n1"}},
		"in its neighbours' racks": {
			[]string{"r1/n1", "a:r2/n7", "r1/n2", "r2/n5", "a:r1/n3", "r2/n6"},
			[]string{"r1/n1", "r1/n3", "r1/n2", "r2/n5", "r2/n7", "r2/n6"},
		},
		"around the end of the ring": {
			[]string{"a:r2/n5", "r1/n1", "r2/n4", "a:r1/n2"}, []string{"r1/n2", "r1/n1", "r2/n4", "r2/n5"},
		},
		"several on one node": {[]string{"a:r1/n1", "a:r1/n2", "a:r1/n1", "a:r1/n2"},
			[]string{"r1/n1", "r1/n1", "r1/n2", "r1/n2"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(c.want, paths(ranks.Arrange(pods(c.pods...)))))
		})
	}
}

func TestBorders(t *testing.T) {
	for written, want := range map[string][]int{
		"":                        nil,
		"r1/n1":                   {0, 0},
		"r1/n1,r1/n1":             {0, 0},
		"r1/n1,r1/n2":             {0, 2},
		"r1/n1,r1/n2,r2/n3":       {2, 3},
		"r1/n1,r2/n3,r1/n2,r2/n4": {4, 4},
	} {
		diff := cmp.Diff(want,
			ranks.Borders(pods(strings.FieldsFunc(written, func(r rune) bool { return r == ',' })...)))
		assert.Empty(t, diff, "%s (-want +got)", written)
	}
}

// drawn are up to most pods in a tree of blocks, racks and nodes, of kinds, in any order.
func drawn(t *rapid.T, most int, kinds []string) []ranks.Pod {
	made := make([]ranks.Pod, rapid.IntRange(1, most).Draw(t, "pods"))
	order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
		for i := range made {
			if !yield(i) {
				return
			}
		}
	})).Draw(t, "indices")
	for i := range made {
		node := rapid.IntRange(0, 17).Draw(t, "node")
		made[i] = ranks.Pod{
			Name: fmt.Sprint(i), Index: order[i] * 3, Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
			Path: []string{fmt.Sprintf("b%d", node/9), fmt.Sprintf("r%d", node/3), fmt.Sprintf("n%d", node)},
		}
	}
	return made
}

// The bound: a domain that has some but not all of the pods has a first one in the ring, and before that a border.
func TestARingOfAlikePodsCrossesAsFewBordersAsThereAreDomains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawn(t, 64, []string{"a"})
		got := ranks.Borders(ranks.Arrange(before))
		for level := range got {
			used := map[string]bool{}
			for _, pod := range before {
				used[strings.Join(pod.Path[:level+1], "/")] = true
			}
			bound := len(used)
			if bound == 1 {
				bound = 0
			}
			require.Equal(t, bound, got[level], "%d borders at level %d, the bound is %d", got[level], level, bound)
		}
	})
}

// Pods that stand stay, nothing is lost, and around them no exchange within a kind helps.
func TestNoExchangeIsBetterThanWhatIsArranged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawn(t, 40, []string{"", "a", "b"})
		after := ranks.Arrange(before)
		checkExchange(t, before, after)
		got := sum(after)
		for i := range after {
			for j := range i {
				if after[i].Kind != after[j].Kind || after[i].Kind == "" {
					continue
				}
				swap := func() { after[i].Path, after[j].Path = after[j].Path, after[i].Path }
				swap()
				require.GreaterOrEqual(t, sum(after), got, "with the nodes of %d and %d exchanged", i, j)
				swap()
			}
		}
	})
}

func checkExchange(t *rapid.T, before, after []ranks.Pod) {
	nodes := func(pods []ranks.Pod) map[string][]string {
		have := map[string][]string{}
		for _, pod := range pods {
			key := pod.Kind
			if key == "" {
				key = "the pod " + pod.Name
			}
			have[key] = append(have[key], strings.Join(pod.Path, "/"))
		}
		for _, all := range have {
			slices.Sort(all)
		}
		return have
	}
	require.Empty(t, cmp.Diff(nodes(before), nodes(after)), "nodes of kinds (-before +after)")
	require.True(t, slices.IsSortedFunc(after, func(a, b ranks.Pod) int { return a.Index - b.Index }),
		"not by their indices")
}

func sum(pods []ranks.Pod) int {
	all := 0
	for _, borders := range ranks.Borders(pods) {
		all += borders
	}
	return all
}

// Many pods beside many that stand: bounded in time, and no worse than without.
func TestManyPodsAroundManyThatStand(t *testing.T) {
	var many []ranks.Pod
	for i := range 4096 {
		kind := "a"
		if i%3 == 0 {
			kind = ""
		}
		node := i * 7919 % 4096
		many = append(many, ranks.Pod{
			Name: fmt.Sprint(i), Index: i, Kind: kind, Path: []string{fmt.Sprintf("r%03d", node/64), fmt.Sprintf("n%04d", node)},
		})
	}
	before, after := sum(many), sum(ranks.Arrange(many))
	assert.LessOrEqual(t, after, before, "%d borders, %d before", after, before)
}

func BenchmarkArrange(b *testing.B) {
	for _, count := range []int{64, 4096} {
		var all []ranks.Pod
		for i := range count {
			node := i * 7919 % count / 8
			all = append(all, ranks.Pod{Index: i, Kind: "a",
				Path: []string{"z", fmt.Sprintf("r%03d", node/16), fmt.Sprintf("n%04d", node)}})
		}
		b.Run(fmt.Sprintf("pods=%d", count), func(b *testing.B) {
			for b.Loop() {
				ranks.Arrange(all)
			}
		})
	}
}

package refute

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing/certificate"
)

// A group is followed into its domains, and each measure tried there. One that is not the gang is set aside with those
// like it.
func TestAProofAboutOneGroup(t *testing.T) {
	cuts := []string{"deficit", "cut gpu", "cut pods r-0"}
	for name, test := range map[string]struct {
		change func(in *question)
		group  groups
		want   []string
	}{
		"a group": {group: groups{right}, want: append([]string{
			"without [right] each [1] then [2]",
			"branch right in net/rack each [3 4 5] none [2]",
			"deficit"}, cuts...)},
		"groups that are alike": {group: groups{right, left}, want: append([]string{
			"without [right left] each [1] then [2]",
			"branch right in net/rack each [3 4 5] none [2]",
			"deficit"}, cuts...)},
		"the gang": {
			change: func(in *question) {
				in.Groups, in.Topologies = in.Groups[:1], nil
				in.Groups[0].Topology, in.Groups[0].Required, in.Groups[0].Pending = "net", "zone", some("r", 1)
			},
			group: groups{all},
			want:  append([]string{"branch all in net/zone each [2 3 4] none [1]", "deficit"}, cuts...)},
	} {
		t.Run(name, func(t *testing.T) {
			in := yard()
			if test.change != nil {
				test.change(in)
			}
			proof := alone(in, test.group)
			assert.Empty(t, cmp.Diff(test.want, texts(proof.Rules)), "(-want +got)")
			assert.Empty(t, cmp.Diff([]int{0}, proof.Start), "the start (-want +got)")
		})
	}
}

// The proof with all rules sets groups aside that may not use all nodes, innermost first; goes through the domains of
// one group after the other; and tries every cut in each place.
func TestAProofWithAllRules(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *question)
		start  []int
		want   []string
	}{
		"one confined group and one that follows others": {
			change: func(in *question) {
				in.Topologies, in.Groups = in.Topologies[1:], append(in.Groups[:1:1], in.Groups[lone:]...)
				in.Groups[2].Follow = make([]certificate.Anchor, 1)
			},
			start: []int{2, 3, 4, 5, 6, 0, 1},
			want: []string{
				"without [loose lone] each [2 3 4 5 6 1] then [2 3 4 5 6 1]",
				"branch lone in power/feed each [2 3 4 5 6] none [2 3 4 5 6]",
				"deficit", "cut gpu", "cut pods o-0",
				"cut lone in power/feed by (gpu, pods o-0)", "cut lone in power/feed by (gpu, pods o-0)",
			}},
		"two confined groups come one after the other": {
			change: func(in *question) {
				in.Topologies, in.Groups = nil, in.Groups[:3]
				in.Kinds[0].Requests = nil
			},
			start: []int{3, 4, 0, 1},
			want: []string{
				"without [left team] each [3 4 1 2] then [3 4 1 2]",
				"branch team in net/zone each [3 4 2] none [3 4 2]",
				"branch left in net/rack each [3 4] none [3 4]",
				"deficit", "cut pods l-0",
			}},
		"no confined group, and a relation": {
			change: func(in *question) {
				in.Groups, in.Relations = []certificate.Group{in.Groups[loose]}, []certificate.Relation{apart()}
			},
			start: []int{1, 2, 3, 4},
			want: []string{
				"without [] each [1 2 3 4] then [1 2 3 4]",
				"deficit", "cut gpu", "cut pods s-0", "cut relation apart",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			in := yard()
			test.change(in)
			proof := thorough(in)
			assert.Empty(t, cmp.Diff(test.want, texts(proof.Rules)), "(-want +got)")
			assert.Empty(t, cmp.Diff(test.start, proof.Start), "the start (-want +got)")
		})
	}
}

// tries records what is tried, one proof a line, and proves nothing.
func tries(lines *[]string) try {
	return func(proof *certificate.Proof) *certificate.Proof {
		*lines = append(*lines, fmt.Sprintf("%v: %s", proof.Start, strings.Join(texts(proof.Rules), "; ")))
		return nil
	}
}

// Pods that a search has met are tried at last; the whole gang in one domain before, if there are too many groups to
// look at each.
func TestSumsThatAreTried(t *testing.T) {
	const byGPU, byPods = "[0]: cut all in net/zone by (gpu)", "[0]: cut all in net/zone by (pods l-0)"
	for name, test := range map[string]struct {
		groups int
		tight  func() []string
		want   []string
	}{
		"up to 256 groups": {256, nil, nil},
		"more groups":      {257, nil, []string{byGPU, byPods}},
		"pods":             {9, func() []string { return []string{"s-0", "o-0"} }, []string{"[0]: cut pods o-0 s-0"}},
		"no pods":          {9, func() []string { return nil }, nil},
		"more groups, and pods": {257, func() []string { return []string{"o-0"} },
			[]string{byGPU, byPods, "[0]: cut pods o-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := yard()
			in.Groups[all].Topology, in.Groups[all].Required = "net", "zone"
			for len(in.Groups) < test.groups {
				in.Groups = append(in.Groups, certificate.Group{Name: fmt.Sprint(len(in.Groups)), Parent: 0})
			}
			var tried []string
			sums(in, Hints{Tight: test.tight}, tries(&tried))
			assert.Empty(t, cmp.Diff(test.want, tried), "(-want +got)")
		})
	}
}

// Each bound of a cut is left out if the rest proves as much by as many rules.
func TestBoundsAreLeftOutOneByOne(t *testing.T) {
	by := []certificate.Measure{{Resource: "a"}, {Resource: "b"}, {Resource: "c"}}
	rules := []certificate.Rule{
		{Deficit: &certificate.Deficit{}}, {Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "x", By: by}}},
		{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "y", By: by}}}, {Deficit: &certificate.Deficit{}},
	}
	before := []string{"deficit", "cut x by (a, b, c)", "cut y by (a, b, c)", "deficit"}
	for name, test := range map[string]struct {
		proves func(lines []string) bool
		drops  bool
		want   []string
	}{
		"all": {func([]string) bool { return true }, false, []string{"deficit", "cut x", "cut y", "deficit"}},
		"all but one": {func(lines []string) bool { return !slices.ContainsFunc(lines[1:3], lacksB) }, false,
			[]string{"deficit", "cut x by (b)", "cut y by (b)", "deficit"}},
		"none": {func([]string) bool { return false }, false, before},
		"none, since a rule would go too": {
			func([]string) bool { return true }, true, before},
	} {
		t.Run(name, func(t *testing.T) {
			proof := &certificate.Proof{Start: []int{1}, Rules: slices.Clone(rules)}
			least := smaller(proof, func(proof *certificate.Proof) *certificate.Proof {
				if !test.proves(texts(proof.Rules)) {
					return nil
				}
				completed := *proof
				if test.drops {
					completed.Rules = proof.Rules[1:]
				}
				return &completed
			})
			assert.Empty(t, cmp.Diff(test.want, texts(least.Rules)), "(-want +got)")
			assert.Empty(t, cmp.Diff(before, texts(proof.Rules)), "the proof that was made smaller (-want +got)")
		})
	}
}

func lacksB(line string) bool { return !strings.Contains(line, "b)") && !strings.Contains(line, "b,") }

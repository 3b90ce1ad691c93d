package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

// office is a gang of two groups that need a rack each: of a, which has two leaves, both, and b.
func office(tb testing.TB) *problem.Problem {
	tb.Helper()
	c := counts.NewCluster()
	require.NoError(tb, c.SetTopology("site", []string{"zone", "rack"}))
	for _, name := range []string{"n1", "n2"} {
		c.SetNode(counts.Node{Name: name, Labels: map[string]string{"zone": "z", "rack": name}, Allocatable: counts.Resources{"gpu": 8}})
	}
	pods := func(name string, gpu int64) problem.Group {
		return problem.Group{Name: name, MinMember: 1, Pending: []problem.Pods{{Names: []string{name + "-0"}, Shape: counts.Shape{Key: name,
			Requests: counts.Resources{"gpu": gpu}}}}}
	}
	inRack := problem.Constraint{Topology: "site", Required: "rack"}
	a, b := problem.Group{Name: "a", Constraint: inRack, Children: []problem.Group{pods("a1", 2), pods("a2", 2)}}, pods("b", 3)
	b.Constraint, b.Running, b.MinMember = inRack, []string{"n1"}, 2
	a.Children[0].Relations, b.Relations = []string{"inner"}, []string{"other"}
	p, err := problem.New(c, &problem.Gang{Root: problem.Group{Name: "all", Children: []problem.Group{a, b}}, Relations: []problem.Relation{
		{Name: "inner", Topology: "site", Level: "rack", Max: 1}, {Name: "other", Topology: "site", Level: "rack", Max: 1}}})
	require.NoError(tb, err)
	return p
}

const all, groupA, groupA1, groupA2, groupB = 0, 1, 2, 3, 4

func TestARelationIsAboutWhatIsInItsItemsAndAroundThem(t *testing.T) {
	p := office(t)
	for group, want := range map[int]bool{all: true, groupA: true, groupA1: true, groupA2: false, groupB: false} {
		assert.Equal(t, want, about(p, &p.Relations[0], group), "a relation of a1 is about group %d", group)
	}
	for group, want := range map[int]bool{all: true, groupA: false, groupA1: false, groupA2: false, groupB: true} {
		assert.Equal(t, want, about(p, &p.Relations[1], group), "a relation of b is about group %d", group)
	}
	item := p.Relations[0]
	item.Items = []int{groupA}
	for group, want := range map[int]bool{all: true, groupA: true, groupA1: true, groupA2: true, groupB: false} {
		assert.Equal(t, want, about(p, &item, group), "a relation of a is about group %d", group)
	}
}

func TestRulesAreCountedWhereverTheyAreUsed(t *testing.T) {
	used := timesUsed(&certificate.Proof{Start: []int{0, 1}, Rules: []certificate.Rule{
		{Without: &certificate.Without{Each: []int{1, 2}, Then: []int{3}}},
		{Branch: &certificate.Branch{Each: []int{2, 3}, None: []int{2}}},
		{Deficit: &certificate.Deficit{}}, {Deficit: &certificate.Deficit{}},
	}})
	assert.Equal(t, []int{1, 2, 3, 2}, used)
}

// A claim is what a sentence can say: one group, one domain at most, and one rule. What is
// more than that has no figures.
func TestACertificateComesDownToAClaim(t *testing.T) {
	deficit := func(group string) certificate.Rule {
		return certificate.Rule{Deficit: &certificate.Deficit{Group: group}}
	}
	cut := func(domain string, need, offer int64, of ...string) certificate.Rule {
		return certificate.Rule{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "gpu", Of: of}, Domain: domain,
			Need: need, Offer: offer}}
	}
	branch := func(group string, none int, each ...int) certificate.Rule {
		return certificate.Rule{Branch: &certificate.Branch{Group: group, Topology: "site", Level: "rack", Each: each,
			None: []int{none}}}
	}
	without := func(group string, each, then int) certificate.Rule {
		return certificate.Rule{Without: &certificate.Without{Groups: []string{group}, Each: []int{each}, Then: []int{then}}}
	}
	type said struct {
		Group        int
		Leaf, Here   bool
		Running      int64
		Pods         int64
		Branch, Rule bool
	}
	for name, test := range map[string]struct {
		rules []certificate.Rule
		want  said
		// nearest is the domain of the rule that decides, if it is a cut.
		nearest string
	}{
		"too few pods of a leaf": {
			[]certificate.Rule{deficit("b")}, said{Group: groupB, Leaf: true, Running: 1, Rule: true}, ""},
		"too few groups": {[]certificate.Rule{deficit("a")}, said{Group: groupA, Rule: true}, ""},
		"a resource, of unlike pods": {
			[]certificate.Rule{cut("", 7, 6)}, said{Rule: true}, ""},
		"a resource, of pods that are alike": {
			[]certificate.Rule{cut("", 4, 3, "a1", "a2")}, said{Group: groupA, Pods: 2, Rule: true}, ""},
		"a resource of one leaf": {
			[]certificate.Rule{cut("", 3, 2, "b")}, said{Group: groupB, Leaf: true, Running: 1, Pods: 3, Rule: true}, ""},
		"a domain, and the group that goes there": {
			[]certificate.Rule{branch("a", 1, 2), deficit("all"), cut("z/n1", 4, 3, "a1", "a2")},
			said{Group: groupA, Here: true, Pods: 2, Branch: true, Rule: true}, "z/n1"},
		"a domain of another group": {
			[]certificate.Rule{branch("b", 1, 2), deficit("all"), cut("z/n1", 4, 3, "a1")},
			said{Group: groupA1, Leaf: true, Pods: 2, Branch: true, Rule: true}, "z/n1"},
		"of several cuts that which lacks least": {
			[]certificate.Rule{branch("a", 1, 2, 3), deficit("all"), cut("z/n1", 4, 1, "a1"), cut("z/n2", 4, 3, "a1")},
			said{Group: groupA1, Leaf: true, Pods: 2, Branch: true, Rule: true}, "z/n2"},
		"a group that the gang cannot do without": {
			[]certificate.Rule{without("a", 1, 2), deficit("a1"), deficit("all")}, said{Group: groupA1, Leaf: true, Rule: true}, ""},
		"a group that leaves a gang with too little for another reason": {
			[]certificate.Rule{without("a", 1, 2), deficit("a1"), cut("", 9, 8)}, said{}, "",
		},
		"a group inside of a group": {
			[]certificate.Rule{without("a", 1, 3), without("a1", 2, 3), deficit("a2"), deficit("a")}, said{}, "",
		},
		"a group that is left out in each domain of another": {
			[]certificate.Rule{branch("b", 3, 1), without("a", 2, 3), deficit("a1"), deficit("all")}, said{}, "",
		},
		"a domain in a domain": {
			[]certificate.Rule{branch("a", 2, 1), branch("b", 2, 3), deficit("all"), deficit("b")}, said{}, "",
		},
		"no domain at all": {
			[]certificate.Rule{branch("a", 1), deficit("all")}, said{}, "",
		},
		"one rule for several cases, whose figures are of one of them only": {
			[]certificate.Rule{branch("a", 1, 1), deficit("a1")}, said{}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := office(t)
			p.Relations = nil
			d := &report{Search: &search.Search{Trial: &problem.Trial{P: p}},
				certificate: &certificate.Proof{Start: []int{0}, Rules: test.rules}}
			c := d.claim()
			got := said{Group: c.group, Leaf: c.leaf, Here: c.here, Running: c.running, Pods: c.pods, Branch: c.branch != nil,
				Rule: c.rule != nil}
			assert.Empty(t, cmp.Diff(test.want, got), "(-want +got)")
			if test.nearest != "" && c.rule.Cut.Domain != test.nearest {
				t.Errorf("nearest is %s, want %s", c.rule.Cut.Domain, test.nearest)
			}
		})
	}
}

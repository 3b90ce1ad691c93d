package certificate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twins is two groups that differ in their names only: each of two leaves with a pod of a small and one of a large kind.
func twins() *Input {
	in := street()
	in.Groups = in.Groups[:1]
	in.Relations[1].Max = 9
	for _, name := range []string{"a", "b"} {
		outer := len(in.Groups)
		in.Groups = append(in.Groups, Group{Name: name, Parent: 0, MinSubGroups: 2})
		for i := range 2 {
			leaf := fmt.Sprint(name, i)
			in.Groups = append(in.Groups, Group{Name: leaf, Parent: outer, MinMember: 1, Relations: []string{"three"},
				Pending: []Pods{{Kind: 0, Names: []string{leaf + "-small"}}, {Kind: 1, Names: []string{leaf + "-large"}}}})
		}
	}
	return in
}

// Groups that differ in anything but their names are not judged together.
func TestGroupsThatDifferAreNotAlike(t *testing.T) {
	for name, test := range map[string]struct {
		change func(b, leaf *Group)
		alike  bool
	}{
		"names":                 {func(_, leaf *Group) { leaf.Pending[0].Names[0] = "other" }, true},
		"minimum of groups":     {func(b, _ *Group) { b.MinSubGroups = 1 }, false},
		"minimum of pods":       {func(_, leaf *Group) { leaf.MinMember = 2 }, false},
		"running pods":          {func(_, leaf *Group) { leaf.Running = []string{"away"} }, false},
		"number of pods":        {func(_, leaf *Group) { leaf.Pending[0].Names = append(leaf.Pending[0].Names, "more") }, false},
		"number of kinds":       {func(_, leaf *Group) { leaf.Pending = leaf.Pending[:1] }, false},
		"kinds":                 {func(_, leaf *Group) { leaf.Pending[0].Kind = 1 }, false},
		"regions":               {func(_, leaf *Group) { leaf.Follow = []Anchor{{"net", "rack", []string{"n0"}}} }, false},
		"regions of all leaves": {func(b, _ *Group) { b.Follow = []Anchor{{"net", "rack", []string{"n0"}}} }, false},
		"relations":             {func(_, leaf *Group) { leaf.Relations = []string{"apart"} }, false},
		"number of relations":   {func(_, leaf *Group) { leaf.Relations = nil }, false},
		"relations of a parent": {func(b, _ *Group) { b.Relations = []string{"apart"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := twins()
			test.change(&in.Groups[4], &in.Groups[6])
			v := judging(t, in)
			runs := v.runsOf(0)
			assert.Equal(t, test.alike, len(runs) == 1, "runs %v", runs)
		})
	}
	in := twins()
	in.Groups = in.Groups[:6]
	assert.Len(t, judging(t, in).runsOf(0), 2, "of two leaves and of one")
}

// A scale is even if groups that are alike weigh the same by it.
func TestAnEvenScale(t *testing.T) {
	groups := func(weights ...int64) *Measure {
		m := &Measure{Topology: "net", Level: "zone", Groups: map[string]int64{}, By: []Measure{{Resource: "gpu"}}}
		for i, weight := range weights {
			m.Groups[string(rune('a'+i))] = weight
		}
		return m
	}
	only := groups(1)
	only.By[0].Of = []string{"a0"}
	for name, test := range map[string]struct {
		measure     *Measure
		even, inner bool
	}{
		"pods":                          {&Measure{Resource: "gpu"}, true, true},
		"pods of all leaves":            {&Measure{Resource: "gpu", Of: []string{"a0", "a1", "b0", "b1"}}, true, true},
		"pods of one leaf":              {&Measure{Resource: "gpu", Of: []string{"a0"}}, false, true},
		"pods of one group":             {&Measure{Resource: "gpu", Of: []string{"a0", "a1"}}, false, true},
		"groups of equal weights":       {groups(2, 2), true, true},
		"groups of different weights":   {groups(1, 2), false, true},
		"one group":                     {groups(1), false, true},
		"pods of one leaf of one group": {only, false, false},
		"items":                         {&Measure{Relation: "three"}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := twins()
			for _, i := range []int{1, 4} {
				in.Groups[i].Topology, in.Groups[i].Required = "net", "zone"
			}
			v := judging(t, in)
			s, err := v.scaleOf(test.measure)
			require.NoError(t, err)
			for range 2 {
				assert.Equal(t, test.even, v.even(s))
				for _, inner := range s.by {
					assert.Equal(t, test.inner, v.even(inner), "of what bounds it")
				}
			}
		})
	}
	assert.True(t, judging(t, twins()).even(nil), "nothing weighs something")
}

// Filters that know fewer nodes than there are leave no other.
func TestFiltersOfFewerNodes(t *testing.T) {
	in := street()
	for i := range 100 {
		in.Nodes = append(in.Nodes, Node{Name: fmt.Sprint("more-", i), Free: map[string]int64{"gpu": 4}})
	}
	v := judging(t, in)
	v.kinds[0].allowed = set{1<<63 | 1}
	takes := v.takes(0)
	for node := range in.Nodes {
		assert.Equal(t, node == 0 || node == 63, takes.has(node), "node %d takes such pods", node)
	}
	if v.open().has(70) != true { // for the other kind
		t.Error("no filter leaves node 70")
	}
}

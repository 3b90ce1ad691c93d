package certificate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// street is four nodes with 4 gpu each: two in rack z/a, one in rack z/b, one in zone z and no rack. Groups a and b of
// two kinds of pods may not share a rack, and three pods at most may stand in one; a pod of a runs in z/a.
func street() *Input {
	paths := [][]string{{"z", "a"}, {"z", "a"}, {"z", "b"}, {"z"}}
	in := &Input{
		Topologies: []Topology{{Name: "net", Levels: []string{"zone", "rack"}}, {Name: "power", Levels: []string{"rack"}}},
		Kinds:      []Kind{{Requests: map[string]int64{"gpu": 1}}, {Requests: map[string]int64{"gpu": 2}}},
		Relations: []Relation{{Name: "apart", Topology: "net", Level: "rack", Max: 1},
			{Name: "three", Topology: "net", Level: "rack", Max: 3, PerPod: true}},
		Groups: []Group{{Name: "all", Parent: -1, MinSubGroups: 2}},
	}
	for i, path := range paths {
		in.Nodes = append(in.Nodes, Node{Name: fmt.Sprint("n", i), Free: map[string]int64{"gpu": 4},
			Domains: map[string][]string{"net": path}})
	}
	for _, name := range []string{"a", "b"} {
		in.Groups = append(in.Groups, Group{Name: name, Parent: 0, MinMember: 1, Relations: []string{"apart", "three"},
			Pending: []Pods{{Kind: 0, Names: []string{name + "-small"}}, {Kind: 1, Names: []string{name + "-large"}}}})
	}
	in.Groups[1].Running = []string{"n0"}
	return in
}

// judging is a verifier of a question.
func judging(tb testing.TB, in *Input) *verifier {
	tb.Helper()
	m, err := Read(in)
	require.NoError(tb, err)
	m.limit = MaxSteps
	m.start()
	return &verifier{Model: m, scales: map[*Measure]*scale{}, asked: numbering{}, needs: map[needOf]leastWeight{}}
}

// What bounds how many groups a domain takes counts pods of these groups only, in that domain or narrower ones.
func TestMeasuresInsideADomain(t *testing.T) {
	in := street()
	in.Groups[1].Topology, in.Groups[1].Required = "net", "zone"
	in.Groups[2].Topology, in.Groups[2].Required = "net", "rack"
	in.Relations = append(in.Relations, Relation{Name: "rails", Topology: "power", Level: "rack", Max: 1},
		Relation{Name: "zones", Topology: "net", Level: "zone", Max: 1})
	gpu := Measure{Resource: "gpu"}
	of := func(groups ...string) Measure { return Measure{Resource: "gpu", Of: groups} }
	byGroup := func(group, level string, by ...Measure) *Measure {
		return &Measure{Groups: map[string]int64{group: 1}, Topology: "net", Level: level, By: by}
	}
	for name, test := range map[string]struct {
		measure *Measure
		// leaves are the leaves that count by each measure; nil if there is an error.
		leaves []string
	}{
		"all pods of the groups":                 {byGroup("b", "rack", gpu), []string{"b"}},
		"pods of others do not count":            {byGroup("b", "rack", of("a"), of("a", "b")), []string{"", "b"}},
		"a relation by the same level":           {byGroup("b", "rack", Measure{Relation: "apart"}), []string{"b"}},
		"a relation by a narrower level":         {byGroup("a", "zone", Measure{Relation: "apart"}), []string{"a"}},
		"a relation by a broader level":          {byGroup("b", "rack", Measure{Relation: "zones"}), nil},
		"a relation of another topology":         {byGroup("b", "rack", Measure{Relation: "rails"}), nil},
		"groups in domains of a narrower level":  {byGroup("b", "zone", *byGroup("b", "rack", gpu)), []string{"b"}},
		"groups in domains of a broader level":   {byGroup("b", "rack", *byGroup("b", "zone", gpu)), nil},
		"groups that may stand in several racks": {byGroup("a", "rack", gpu), nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := judging(t, in)
			s, err := v.scaleOf(test.measure)
			if test.leaves == nil {
				require.ErrorIs(t, err, ErrNotProved, "it is taken")
				return
			}
			require.NoError(t, err)
			for i, inner := range s.by {
				leaves := ""
				for leaf, counts := range inner.of {
					if counts {
						leaves += in.Groups[leaf].Name
					}
				}
				assert.Equal(t, test.leaves[i], leaves, "pods of %q count by measure %d, want %q", leaves, i, test.leaves[i])
			}
		})
	}
}

func TestWhereAGroupMayJoinOthers(t *testing.T) {
	v := judging(t, street())
	for name, test := range map[string]struct {
		others []int
		want   []int32
	}{
		"in the one domain where they stand":         {[]int{0, 1}, []int32{0, 1}},
		"in that of a single one":                    {[]int{2}, []int32{2}},
		"nowhere, if they stand in two":              {[]int{1, 2}, nil},
		"nowhere, if one stands in none":             {[]int{0, 3}, nil},
		"nowhere, if the only one stands in none":    {[]int{3}, nil},
		"in any domain, if there are no others":      {nil, []int32{0, 1, 2}},
		"in the first domain, whichever is named on": {[]int{1, 0}, []int32{0, 1}},
	} {
		var got []int32
		if r := v.joining(v.everywhere, "net", "rack", test.others); r != nil {
			got = r.nodes
		}
		assert.True(t, slices.Equal(got, test.want), "%s: %v, want %v", name, got, test.want)
	}
	assert.Same(t, v.everywhere, v.within(v.everywhere, v.divide("net", "zone"), -1),
		"all nodes are in a zone, and what is in any zone is another region than all of them")
}

// Domains are in the order of their paths, whatever the order of nodes; nodes without a label are in none.
func TestDomainsAreInOrder(t *testing.T) {
	in := &Input{Topologies: []Topology{{Name: "net", Levels: []string{"zone", "rack"}}}}
	for i, path := range [][]string{{"z", "b"}, {"z"}, {"z", "a"}, nil, {"y", "c"}, {"z", "b"}} {
		in.Nodes = append(in.Nodes, Node{Name: fmt.Sprint(i), Domains: map[string][]string{"net": path}})
	}
	l := &listed{in: in}
	for depth, want := range [][]int{{1, 1, 1, -1, 0, 1}, {2, -1, 1, -1, 0, 2}} {
		of, paths := l.Divide("net", depth)
		if !slices.Equal(of, want) || !slices.IsSortedFunc(paths, slices.Compare[[]string]) {
			t.Errorf("level %d: nodes in %v of %v, want %v", depth, of, paths, want)
		}
	}
}

// Domains in which the same pods may stand share what the goal needs there; where rules set groups aside,
// each is asked for by itself.
func TestNeedsAreSharedByDomainsAlike(t *testing.T) {
	in := street()
	in.Relations, in.Groups[1].Running = nil, nil
	in.Groups[0].Topology, in.Groups[0].Required = "net", "rack"
	for i := range in.Groups {
		in.Groups[i].Relations = nil
	}
	for i := range 14 { // so many groups that it is worth it
		in.Groups = append(in.Groups, Group{Name: fmt.Sprint("more-", i), Parent: 0})
	}
	in.Nodes[2].Free["gpu"] = 1 // too little for large pods
	in.Groups[2].Pending = in.Groups[2].Pending[1:]
	in.Groups[0].MinSubGroups = 16
	v := judging(t, in)
	gpu, err := v.scaleOf(&Measure{Resource: "gpu"})
	require.NoError(t, err)
	racks := v.divide("net", "rack")
	for range 2 {
		for domain, want := range []leastWeight{{3, true}, {1, false}} {
			weight, possible := v.needed(v.confined(&state{}, 0, racks, domain), gpu)
			if possible != want.possible || possible && weight != want.weight {
				t.Errorf("rack %s needs %d, possible %v", racks.path(domain), weight, possible)
			}
		}
	}
	if weight, possible := v.needed(&state{}, gpu); weight != 3 || !possible {
		t.Errorf("all needs %d, possible %v", weight, possible)
	}
	aside := v.setting(&state{})
	v.set(aside, 2)
	_, possible := v.needed(aside, gpu)
	assert.False(t, possible, "all groups are needed, and one is set aside")
	assert.Len(t, v.needs, 2, "needs are kept, and there are racks for all pods and for small ones")
}

package certificate

import (
	"errors"
	"fmt"
	"slices"
	"testing"
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
	if err != nil {
		tb.Fatal(err)
	}
	m.limit = MaxSteps
	m.start()
	return &verifier{Model: m, scales: map[*Measure]*scale{}, asked: numbering{}, needs: map[needOf]leastWeight{}}
}

// searching is a search of the first state, with the index of each class of pods by group and kind.
func searching(tb testing.TB, in *Input) (*search, []*division) {
	x := &search{verifier: judging(tb, in), index: map[classOf]int{}}
	x.classify(&state{})
	x.most = slices.Repeat(counts{9}, len(x.classes))
	return x, x.counted()
}

// Classes of a and b are in this order: small and large pods of a, then those of b.
func TestItemsInADomainAreCountedOnce(t *testing.T) {
	x, levels := searching(t, street())
	if len(x.classes) != 4 || len(levels) != 1 || len(x.counts) != 2 {
		t.Fatalf("%d classes, %d levels, %d relations", len(x.classes), len(levels), len(x.counts))
	}
	const apart, three, zA, zB = 0, 1, 0, 1
	for name, test := range map[string]struct {
		pods             counts
		relation, domain int
		want             int64
	}{
		"a group is one item, whatever its pods":     {counts{1, 1, 0, 0}, apart, zB, 1},
		"two groups are two":                         {counts{1, 0, 2, 0}, apart, zB, 2},
		"one that stands there does not enter":       {counts{1, 1, 0, 0}, apart, zA, 0},
		"the other one does":                         {counts{1, 1, 0, 1}, apart, zA, 1},
		"pods as items are as many as there are":     {counts{2, 1, 0, 4}, three, zA, 7},
		"no pods are no items":                       {counts{0, 0, 0, 0}, apart, zB, 0},
		"pods as items of a domain where some stand": {counts{1, 0, 0, 0}, three, zA, 1},
	} {
		if got, _ := x.used(test.pods, test.relation, test.domain, nil); got != test.want {
			t.Errorf("%s: %d items, want %d", name, got, test.want)
		}
	}
	key := func(c counts, relation int) string {
		_, key := x.used(c, relation, zB, nil)
		return string(key)
	}
	if key(counts{1}, apart) == key(counts{0, 0, 1}, apart) {
		t.Error("a and b leave the same to others by relation apart, although each may still enter where it is")
	}
	if key(counts{1, 0, 0, 0}, three) != key(counts{0, 0, 1, 0}, three) {
		t.Error("one pod of a and one of b differ by a relation that counts pods")
	}
}

func TestNodesAreDividedByTheirDomains(t *testing.T) {
	x, levels := searching(t, street())
	parts := x.parts([]int32{3, 2, 1, 0}, levels[0])
	want := []part{{-1, []int32{3}}, {0, []int32{1, 0}}, {1, []int32{2}}}
	same := func(a, b part) bool { return a.domain == b.domain && slices.Equal(a.nodes, b.nodes) }
	if !slices.EqualFunc(parts, want, same) {
		t.Errorf("%v, want %v", parts, want)
	}
}

// What nodes take is at most what relations let in, rack by rack, and no less.
func TestWhatNodesTakeTogetherKeepsRelations(t *testing.T) {
	x, levels := searching(t, street())
	takes := func(nodes []int32, levels []*division, c counts) bool {
		return slices.ContainsFunc(x.take(nodes, levels, nil), func(most counts) bool { return covers(most, c, 1) })
	}
	for name, test := range map[string]struct {
		nodes  []int32
		levels []*division
		pods   counts
		want   bool
	}{
		"a and b in one rack, where neither is":                 {[]int32{2}, levels, counts{1, 0, 1, 0}, false},
		"one of them there":                                     {[]int32{2}, levels, counts{0, 0, 1, 0}, true},
		"a, which stands there, and b":                          {[]int32{0, 1}, levels, counts{1, 0, 1, 0}, false},
		"a, which stands there":                                 {[]int32{0, 1}, levels, counts{1, 0, 0, 0}, true},
		"a in one rack and b in the other":                      {[]int32{0, 1, 2}, levels, counts{1, 0, 1, 0}, true},
		"a third pod where one stands and three may":            {[]int32{0, 1}, levels, counts{2, 1, 0, 0}, false},
		"a second one":                                          {[]int32{0, 1}, levels, counts{1, 1, 0, 0}, true},
		"three in a rack where none stands":                     {[]int32{2}, levels, counts{2, 1, 0, 0}, true},
		"four there":                                            {[]int32{2}, levels, counts{4, 0, 0, 0}, false},
		"a pod on a node in no rack, if racks count":            {[]int32{3}, levels, counts{1, 0, 0, 0}, false},
		"more than a node has room for, if nothing counts":      {[]int32{2}, nil, counts{1, 2, 0, 0}, false},
		"as much as two nodes have room for, if nothing counts": {[]int32{0, 1}, nil, counts{0, 2, 0, 2}, true},
	} {
		if got := takes(test.nodes, test.levels, test.pods); got != test.want {
			t.Errorf("%s: taken %v", name, got)
		}
	}
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
		// leaves are those that count by each measure; nil if there is an error.
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
				if !errors.Is(err, ErrNotProved) {
					t.Fatalf("it is taken: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, inner := range s.by {
				leaves := ""
				for leaf, counts := range inner.of {
					if counts {
						leaves += in.Groups[leaf].Name
					}
				}
				if leaves != test.leaves[i] {
					t.Errorf("pods of %q count by measure %d, want %q", leaves, i, test.leaves[i])
				}
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
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if r := v.within(v.everywhere, v.divide("net", "zone"), -1); r != v.everywhere {
		t.Error("all nodes are in a zone, and what is in any zone is another region than all of them")
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if _, possible := v.needed(aside, gpu); possible {
		t.Error("all groups are needed, and one is set aside")
	}
	if len(v.needs) != 2 {
		t.Errorf("%d needs are kept, and there are racks for all pods and for small ones", len(v.needs))
	}
}

package refute

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing/certificate"
)

// kinds asks about one leaf with a pod of each of some kinds, which ask for so much.
func kinds(requests ...map[string]int64) *question {
	in := &certificate.Input{Groups: []certificate.Group{{Name: "all", Parent: -1}}}
	for kind, requested := range requests {
		in.Kinds = append(in.Kinds, certificate.Kind{Requests: requested})
		in.Groups[0].Pending = append(in.Groups[0].Pending, certificate.Pods{Kind: kind,
			Names: []string{string(rune('a' + kind))}})
	}
	return &question{Input: in}
}

func TestWhatPodsAreMeasuredBy(t *testing.T) {
	type amounts = map[string]int64
	for name, test := range map[string]struct {
		in   *question
		want []string
	}{
		"nothing is asked for": {kinds(amounts{"gpu": 0}), []string{"pods a"}},
		"one kind":             {kinds(amounts{"gpu": 1}), []string{"gpu", "pods a"}},
		"a negative amount":    {kinds(amounts{"gpu": -1}), []string{"pods a"}},
		"resources by name":    {kinds(amounts{"b": 1, "c": 1, "a": 1}), []string{"a", "b", "c", "pods a"}},
		"two kinds of one size": {kinds(amounts{"gpu": 1}, amounts{"gpu": 1}),
			[]string{"gpu", "pods a b", "pods a", "pods b"}},
		"two sizes, of which one is that of all and one that of one pod": {kinds(amounts{"gpu": 1}, amounts{"gpu": 2}),
			[]string{"gpu", "pods a b", "pods a", "pods b"}},
		"large pods, once for each size": {kinds(amounts{"gpu": 2}, amounts{"gpu": 1}, amounts{"gpu": 2}),
			[]string{"gpu", "pods a b c", "pods a", "pods b", "pods c", "pods a c"}},
		"a size is that or more": {
			kinds(amounts{"gpu": 4}, amounts{"gpu": 1}, amounts{"gpu": 3}, amounts{"gpu": 2}), []string{
				"gpu", "pods a b c d", "pods a", "pods b", "pods c", "pods d", "pods a c d", "pods a c"}},
		"sizes by resource": {
			kinds(amounts{"gpu": 1}, amounts{"gpu": 1, "cpu": 5}, amounts{"cpu": 5}), []string{
				"cpu", "gpu", "pods a b c", "pods a", "pods b", "pods c", "pods b c", "pods a b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range measuresOf(test.in) {
				got = append(got, measureText(m))
			}
			assert.Empty(t, cmp.Diff(test.want, got), "(-want +got)")
		})
	}
}

// Kinds are measured each up to a dozen of them: beyond that there are the resource and the number of pods.
func TestUpToTwelveKindsAreMeasuredEach(t *testing.T) {
	for count, want := range map[int]int{12: 1 + 1 + 12, 13: 1 + 1} {
		var requests []map[string]int64
		for range count {
			requests = append(requests, map[string]int64{"gpu": 1})
		}
		assert.Len(t, measuresOf(kinds(requests...)), want, "measures of %d kinds", count)
	}
}

// Scarce resources come in the order of scarcity, the others by name.
func TestScarceResourcesComeFirst(t *testing.T) {
	in := kinds(map[string]int64{"a": 1, "b": 1, "c": 1, "d": 1})
	in.scarce = []string{"d", "unheard of", "b"}
	var got []string
	for _, m := range measuresOf(in) {
		got = append(got, measureText(m))
	}
	assert.Empty(t, cmp.Diff([]string{"d", "b", "a", "c", "pods a"}, got), "(-want +got)")
}

// A kind is called by its first pod, and kinds come in their own order.
func TestTheFirstPodOfEachKind(t *testing.T) {
	in := &question{Input: &certificate.Input{Groups: []certificate.Group{
		{Pending: []certificate.Pods{{Kind: 2, Names: []string{"x", "y"}}, {Kind: 0, Names: []string{"z"}}, {Kind: 1}}},
		{Pending: []certificate.Pods{{Kind: 0, Names: []string{"before"}}, {Kind: 3}, {Kind: 2, Names: []string{"v"}},
			{Kind: 2, Names: []string{"w"}}}},
	}}}
	want := []podOf{{0, 1, "z"}, {2, 0, "x"}}
	assert.Empty(t, cmp.Diff(want, firstPods(in), cmp.AllowUnexported(podOf{})), "(-want +got)")
}

// three is a question about three equal groups; two of them suffice.
func three() *question {
	in := &certificate.Input{
		Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}},
			{Name: "ne", Levels: []string{"track"}}},
		Groups: []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: 2}},
	}
	for _, name := range []string{"a", "b", "c"} {
		in.Groups = append(in.Groups, certificate.Group{Name: name, Parent: 0, Topology: "net", Required: "rack",
			MinMember: 1, Pending: some(name, 2)})
	}
	return &question{Input: in}
}

// What matters to whether a group fits tells it apart from others, and nothing else does.
func TestWhatTellsGroupsApart(t *testing.T) {
	together, apart := [][]string{{"a", "b", "c"}}, [][]string{{"c"}, {"a", "b"}}
	for name, test := range map[string]struct {
		change func(all, c *certificate.Group)
		want   [][]string
	}{
		"nothing":           {func(_, _ *certificate.Group) {}, together},
		"names of pods":     {func(_, c *certificate.Group) { c.Pending = some("other", 2) }, together},
		"number of pods":    {func(_, c *certificate.Group) { c.Pending = some("c", 3) }, apart},
		"kind of pods":      {func(_, c *certificate.Group) { c.Pending[0].Kind = 1 }, apart},
		"more pods":         {func(_, c *certificate.Group) { c.Pending = append(c.Pending, some("d", 1)...) }, apart},
		"minimum of pods":   {func(_, c *certificate.Group) { c.MinMember = 2 }, apart},
		"minimum of groups": {func(_, c *certificate.Group) { c.MinSubGroups = 1 }, apart},
		"level":             {func(_, c *certificate.Group) { c.Required = "zone" }, apart},
		"topology":          {func(_, c *certificate.Group) { c.Topology = "ne" }, apart},
		"topology and level that read alike": {func(_, c *certificate.Group) { c.Topology, c.Required = "ne", "track" },
			apart},
		"running pods":       {func(_, c *certificate.Group) { c.Running = []string{"node"} }, apart},
		"pods that it is by": {func(_, c *certificate.Group) { c.Follow = make([]certificate.Anchor, 1) }, apart},
		"relations":          {func(_, c *certificate.Group) { c.Relations = []string{"apart"} }, apart},
		"one without a level is not looked at": {func(_, c *certificate.Group) { c.Required = "" },
			[][]string{{"a", "b"}}},
		"if all are needed, one stands for all": {func(all, _ *certificate.Group) { all.MinSubGroups = 3 },
			[][]string{{"c"}}},
		"the gang itself too": {func(all, _ *certificate.Group) { all.Topology, all.Required = "net", "zone" },
			[][]string{{"a", "b", "c"}, {"all"}}},
	} {
		t.Run(name, func(t *testing.T) {
			in := three()
			test.change(&in.Groups[0], &in.Groups[3])
			var got [][]string
			for _, alike := range distinct(in) {
				got = append(got, alike.names(in))
			}
			assert.Empty(t, cmp.Diff(test.want, got), "(-want +got)")
		})
	}
}

// Groups with groups inside are alike if these are, one by one; and those inside if the groups around them are.
func TestGroupsAroundAndInsideTellGroupsApart(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *question)
		want   [][]string
	}{
		"alike all through": {func(*question) {}, [][]string{{"p0", "p1", "q0", "q1"}, {"p", "q"}}},
		"another group around": {func(in *question) { in.Groups[4].Required = "rack" },
			[][]string{{"q0", "q1"}, {"q"}, {"p0", "p1"}, {"p"}}},
		"another group inside": {func(in *question) { in.Groups[6].MinMember = 2 },
			[][]string{{"q1"}, {"p0", "p1", "q0"}, {"q"}, {"p"}}},
		"a group less inside": {func(in *question) { in.Groups = in.Groups[:6] },
			[][]string{{"p0", "p1", "q0"}, {"q"}, {"p"}}},
	} {
		t.Run(name, func(t *testing.T) {
			in := three()
			in.Groups, in.Groups[0].MinSubGroups = in.Groups[:1], 1
			for _, name := range []string{"p", "q"} {
				at := len(in.Groups)
				in.Groups = append(in.Groups, certificate.Group{Name: name, Parent: 0, MinSubGroups: 1, Topology: "net",
					Required: "zone"})
				for i := range 2 {
					pods := fmt.Sprint(name, i)
					in.Groups = append(in.Groups, certificate.Group{Name: pods, Parent: at, MinMember: 1,
						Topology: "net", Required: "rack", Pending: some(pods, 2)})
				}
			}
			test.change(in)
			var got [][]string
			for _, alike := range distinct(in) {
				got = append(got, alike.names(in))
			}
			assert.Empty(t, cmp.Diff(test.want, got), "(-want +got)")
		})
	}
}

// A leaf needs its minimum without what runs; a parent as many of its cheapest children as have to be satisfied.
func TestTheFewestPodsByMinima(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *question)
		want   int64
	}{
		"the two cheapest of three":  {func(in *question) { in.Groups[1].MinMember = 9 }, 2},
		"one of them is larger":      {func(in *question) { in.Groups[1].MinMember, in.Groups[2].MinMember = 9, 5 }, 6},
		"no child":                   {func(in *question) { in.Groups[0].MinSubGroups = 0 }, 0},
		"a minimum below none":       {func(in *question) { in.Groups[0].MinSubGroups = -1 }, 0},
		"more children than it has":  {func(in *question) { in.Groups[0].MinSubGroups = 5 }, 3},
		"a child that runs":          {func(in *question) { in.Groups[1].Running = []string{"n"} }, 1},
		"a child with more than all": {func(in *question) { in.Groups[1].Running = []string{"n", "n", "n"} }, 1},
		"pods of a parent do not count": {
			func(in *question) { in.Groups[0].MinMember = 7 }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			in := three()
			test.change(in)
			assert.Equal(t, test.want, fewest(in, 0))
		})
	}
}

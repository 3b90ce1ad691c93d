package certificate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Pods of many kinds are listed by the nodes that they may use; the lists say what looking at each kind does.
func TestKindsThatMayUseANodeAreListed(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	in := &Input{Groups: []Group{{Parent: -1, MinMember: 1}}}
	for node := range 400 {
		in.Nodes = append(in.Nodes, Node{Name: fmt.Sprint("n", node), Free: map[string]int64{"gpu": random.Int64N(30)}})
	}
	for kind := range 30 {
		barred := make([]bool, len(in.Nodes))
		for node := range barred {
			barred[node] = random.IntN(2) == 0
		}
		in.Kinds = append(in.Kinds, Kind{Requests: map[string]int64{"gpu": 1 + random.Int64N(20)}, Barred: barred})
		in.Groups[0].Pending = append(in.Groups[0].Pending, Pods{Kind: kind, Names: []string{fmt.Sprint("p", kind)}})
	}
	v := judging(t, in)
	w := v.weighing(&state{}, &scale{})
	require.NotNil(t, w.first, "nothing is listed")
	looked := *w
	looked.first = nil
	for node := range in.Nodes {
		got, want := v.users(w, node), v.users(&looked, node)
		assert.True(t, slices.Equal(got, want), "node %d: %v, want %v", node, got, want)
	}
}

// Only pods that weigh something are weighed, and only on nodes that take them.
func TestWhatIsWeighed(t *testing.T) {
	in := street()
	in.Relations, in.Groups[1].Relations, in.Groups[2].Relations = nil, nil, nil
	in.Nodes[3].Free["gpu"] = 1
	large := &scale{kind: []int64{0, 3}}
	for name, test := range map[string]struct {
		by   *scale
		pods int64
		want []int64 // by node
	}{
		"all pods":            {&scale{}, 2, []int64{3, 3, 3, 1}},
		"large pods":          {large, 2, []int64{6, 6, 6, 0}},
		"large pods of one":   {&scale{kind: large.kind, of: []bool{false, true, false}}, 1, []int64{3, 3, 3, 0}},
		"all pods of no leaf": {&scale{of: make([]bool, 3)}, 0, []int64{0, 0, 0, 0}},
	} {
		v := judging(t, in)
		got := make([]int64, len(in.Nodes))
		v.offers(&state{}, test.by, func(node int, weight int64) { got[node] += weight })
		assert.True(t, slices.Equal(got, test.want), "%s: nodes offer %v, want %v", name, got, test.want)
	}
}

func TestASumAtTheEndOfInt64BoundsNothing(t *testing.T) {
	items := func() []item { return []item{{weight: 1, count: 2, takes: []int64{4, 5}}} }
	for _, test := range []struct {
		room []int64
		want []int64
	}{
		{[]int64{4, 5}, []int64{4, 5}},
		{[]int64{math.MaxInt64, 5}, []int64{0, 5}},
		{[]int64{4, math.MaxInt64}, []int64{4, 0}},
		{[]int64{math.MaxInt64 - 1, 5}, []int64{4, 5}},
	} {
		before := items()
		got := unlimited(slices.Clone(before), test.room)[0].takes
		assert.True(t, slices.Equal(got, test.want), "of %v an item takes %v, want %v", test.room, got, test.want)
		assert.True(t, slices.Equal(before[0].takes, items()[0].takes), "what items take is written over")
	}
}

func TestSumsAndProductsStop(t *testing.T) {
	const most = math.MaxInt64
	for _, test := range []struct{ a, b, sum, product int64 }{
		{0, 0, 0, 0}, {2, 3, 5, 6}, {most, 0, most, 0}, {0, most, most, 0}, {most - 1, 1, most, most - 1},
		{most, 1, most, most},
		{most, most, most, most}, {1 << 31, 1 << 32, 1<<31 + 1<<32, most}, {1 << 31, 1 << 31, 1 << 32, 1 << 62},
	} {
		assert.Equal(t, test.sum, plus(test.a, test.b), "%d + %d", test.a, test.b)
		assert.Equal(t, test.product, times(test.a, test.b), "%d · %d", test.a, test.b)
	}
}

func TestARegionHasItsNodes(t *testing.T) {
	deficit, many := &region{nodes: []int32{1, 3}}, &region{}
	for node := range int32(100) {
		many.nodes = append(many.nodes, 2*node)
	}
	for _, test := range []struct {
		r    *region
		node int
		want bool
	}{{nil, 0, false}, {deficit, 1, true}, {deficit, 2, false}, {many, 0, true}, {many, 1, false}, {many, 198, true},
		{many, 200, false},
		{many, 1000, false}} {
		assert.Equal(t, test.want, test.r.has(test.node), "%v has %d", test.r, test.node)
	}
}

func TestSetsMeetInANode(t *testing.T) {
	of := func(nodes ...int) set {
		s := newSet(200)
		for _, node := range nodes {
			s.add(node)
		}
		return s
	}
	for _, test := range []struct {
		a, b set
		want bool
	}{{of(1, 150), of(150), true}, {of(1), of(65), false}, {of(), of(), false}, {of(150), newSet(10), false}} {
		assert.Equal(t, test.want, test.a.meets(test.b), "%v and %v meet", test.a, test.b)
	}
	if string(of(1, 150).text()) != string(append(of(1, 150),
		0).text()) || string(of(1).text()) == string(of(65).text()) {
		t.Error("sets are equal by their nodes, whatever words they have")
	}
}

// Nothing but the end of the steps is taken for it.
func TestAnotherPanicIsNoEndOfSteps(t *testing.T) {
	defer func() {
		if e := recover(); e != "another" {
			t.Errorf("recovered %v", e)
		}
	}()
	assert.True(t, recovered(outOfSteps{}), "the end of the steps is not told from none")
	assert.False(t, recovered(nil), "the end of the steps is not told from none")
	recovered("another")
}

package packing_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// asked counts the questions to a filter.
type asked map[string]int

func (a asked) shape(key, filter string, excluded map[string]bool) packing.Shape {
	return packing.Shape{Key: key, Filter: filter, Requests: packing.Resources{"device": 1, "cpu": int64(len(key))},
		Excluded: func(node string) string {
			a[filter]++
			if excluded[node] {
				return "a taint"
			}
			return ""
		}}
}

func of(shapes ...packing.Shape) *packing.Gang {
	g := packing.Group{MinMember: len(shapes)}
	for _, s := range shapes {
		g.Pending = append(g.Pending, packing.Pods{Shape: s, Names: []string{"pod-" + s.Key}})
	}
	return &packing.Gang{Root: g}
}

func TestShapesOfOneFilterAreAskedOnce(t *testing.T) {
	c := farm(t, 300, packing.Resources{"device": 1, "cpu": 100})
	a := asked{}
	gang := of(a.shape("a", "f", nil), a.shape("bb", "f", nil), a.shape("ccc", "g", nil))
	for range 2 {
		d := c.Decide(gang, packing.Options{})
		require.Equal(t, packing.Placed, d.Verdict, d.Message())
		require.Equal(t, 300, a["f"], "asked %v, want each node once", a)
		require.Equal(t, 300, a["g"], "asked %v, want each node once", a)
	}
	c.SetNode(packing.Node{Name: "node-00007", Allocatable: packing.Resources{"device": 1, "cpu": 100}})
	c.Decide(gang, packing.Options{})
	assert.Equal(t, 301, a["f"], "asked %v, want the changed node once more", a)
	assert.Equal(t, 301, a["g"], "asked %v, want the changed node once more", a)
}

func TestWhatAFilterExcludesHoldsForAllItsShapes(t *testing.T) {
	c := farm(t, 300, packing.Resources{"device": 1, "cpu": 100})
	excluded := map[string]bool{}
	for i := range 300 {
		excluded[fmt.Sprintf("node-%05d", i)] = i != 17 && i != 230
	}
	a := asked{}
	one, two := a.shape("a", "f", excluded), a.shape("bb", "f", excluded)
	d := c.Decide(of(one, two), packing.Options{})
	require.Equal(t, packing.Placed, d.Verdict, d.Message())
	for _, to := range d.Assignments {
		assert.False(t, excluded[to.Node], "pod %s is on node %s, which is excluded", to.Pod, to.Node)
	}
	assert.Equal(t, packing.Infeasible, c.Decide(of(one, two, a.shape("ccc", "f", excluded)), packing.Options{}).Verdict,
		"three pods on two nodes")
	// A filter that is forgotten is asked anew.
	clear(excluded)
	for _, key := range c.Shapes() {
		c.Forget(key)
	}
	d = c.Decide(of(one, two, a.shape("ccc", "f", excluded)), packing.Options{})
	assert.Equal(t, packing.Placed, d.Verdict, "nothing is excluded any more: %s", d.Message())
}

func TestOnlyTheNodesNamedAreAskedAbout(t *testing.T) {
	c := farm(t, 300, packing.Resources{"device": 1, "cpu": 100})
	a := asked{}
	pod := func(key string, only ...string) packing.Shape {
		s := a.shape(key, key, map[string]bool{"node-00003": true})
		s.Only = only
		return s
	}
	for name, tc := range map[string]struct {
		gang *packing.Gang
		want packing.Verdict
		node string
	}{
		"one node":                    {of(pod("a", "node-00005")), packing.Placed, "node-00005"},
		"a node twice":                {of(pod("b", "node-00006", "node-00006")), packing.Placed, "node-00006"},
		"a node that is not there":    {of(pod("c", "gone")), packing.Infeasible, ""},
		"a node that is excluded":     {of(pod("e", "node-00003")), packing.Infeasible, ""},
		"two pods on one node":        {of(pod("f", "node-00009"), pod("g", "node-00009")), packing.Infeasible, ""},
		"one excluded, one that goes": {of(pod("h", "node-00003", "node-00004")), packing.Placed, "node-00004"},
	} {
		t.Run(name, func(t *testing.T) {
			clear(a)
			d := c.Decide(tc.gang, packing.Options{})
			require.Equal(t, tc.want, d.Verdict, d.Message())
			if tc.node != "" && d.Assignments[0].Node != tc.node {
				t.Errorf("on %s, want %s", d.Assignments[0].Node, tc.node)
			}
			assert.False(t, d.Verdict == packing.Infeasible && d.Certificate == nil, "no certificate")
			for filter, n := range a {
				assert.False(t, tc.node != "" && n > 2, "filter %s was asked %d times", filter, n)
			}
		})
	}
	none := pod("i")
	none.Only = []string{}
	assert.Equal(t, packing.Infeasible, c.Decide(of(none), packing.Options{}).Verdict, "a pod that may use no node")
}

// What a cluster was asked before makes no difference, even where not all nodes
// are asked about.
func TestManyFiltersAreAnsweredAlikeTheSecondTime(t *testing.T) {
	fresh, used := farm(t, 10_000, packing.Resources{"device": 1}), farm(t, 10_000, packing.Resources{"device": 1})
	gang := &packing.Gang{Root: choosy(200)}
	for i := range gang.Root.Pending {
		used.Decide(&packing.Gang{Root: packing.Group{MinMember: 1, Pending: gang.Root.Pending[i : i+1]}}, packing.Options{})
	}
	want, got := fresh.Decide(gang, packing.Options{}), used.Decide(gang, packing.Options{})
	if want.Verdict != got.Verdict || fmt.Sprint(want.Assignments) != fmt.Sprint(got.Assignments) {
		t.Errorf("%s before, %s after the pods were asked about one by one; or on other nodes", want.Verdict, got.Verdict)
	}
}

// Each pod has a filter of its own without a name: to ask all of them about all nodes would be 41 million questions.
func TestQuestionsToFiltersAreBounded(t *testing.T) {
	const pods, nodes, most = 4096, 10_000, 3_000_000
	for name, excludes := range map[string]func(pod, node int) bool{
		"one in a hundred nodes is left, another for each": func(pod, node int) bool {
			return hash(pod, node)%100 > 0
		},
		"nothing is excluded, which nobody says": func(int, int) bool { return false },
		"the first nodes are excluded for all, which nobody says": func(_, node int) bool {
			return node < 5_000
		},
		"one in ten nodes is left for most pods, one in a thousand for others": func(pod, node int) bool {
			return hash(pod, node)%(10+990*min(1, pod%64/63)) > 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, asked := farm(t, nodes, packing.Resources{"device": 1}), 0
			g := packing.Group{MinMember: pods}
			for pod := range pods {
				shape := packing.Shape{Key: fmt.Sprint("kind-", pod), Requests: packing.Resources{"device": 1},
					Excluded: func(node string) string {
						asked++
						if n, _ := strconv.Atoi(node[len("node-"):]); excludes(pod, n) {
							return "a taint"
						}
						return ""
					}}
				g.Pending = append(g.Pending, packing.Pods{Shape: shape, Names: []string{fmt.Sprint("pod-", pod)}})
			}
			d := c.Decide(&packing.Gang{Root: g}, packing.Options{})
			assert.Equal(t, packing.Placed, d.Verdict, d.Message())
			assert.LessOrEqual(t, asked, most, "%d questions, want at most %d", asked, most)
			for at, a := range d.Assignments {
				n, _ := strconv.Atoi(a.Node[len("node-"):])
				require.False(t, excludes(at, n), "pod %d is on %s, which is excluded", at, a.Node)
			}
		})
	}
}

// Neither does a refusal ask more: its certificate leaves filters out then.
func TestQuestionsOfRefusalsAreBounded(t *testing.T) {
	const pods, nodes, most = 4096, 10_000, 3_000_000
	c, asked := farm(t, nodes, packing.Resources{"device": 2}), 0
	g := packing.Group{MinMember: pods}
	for pod := range pods {
		shape := packing.Shape{Key: fmt.Sprint("kind-", pod), Requests: packing.Resources{"device": int64(1 + 2*(pod%8/7))},
			Excluded: func(node string) string {
				if asked++; hash(pod, len(node))%2 == 0 {
					return "a taint"
				}
				return ""
			}}
		g.Pending = append(g.Pending, packing.Pods{Shape: shape, Names: []string{fmt.Sprint("pod-", pod)}})
	}
	d := c.Decide(&packing.Gang{Root: g}, packing.Options{})
	if d.Verdict != packing.Infeasible || asked > most {
		t.Errorf("%s after %d questions, want at most %d: %s", d.Verdict, asked, most, d.Message())
	}
}

// hash mixes two numbers.
func hash(a, b int) int {
	h := (uint64(a)*0x9e3779b97f4a7c15 ^ uint64(b)) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>29) * 0x94d049bb133111eb
	return int((h ^ h>>32) >> 2)
}

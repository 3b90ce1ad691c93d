package exact

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/internal/problem"
)

func TestTheTightestNode(t *testing.T) {
	rare := pod(2)
	rare.Allowed = []bool{true, true, false, true}
	in := onNodes([]Item{pod(3), rare}, nil, nodes{{9}, {6}, {4}, {8}})
	s := newSolver(in, unlimited())
	for name, test := range map[string]struct {
		class   int
		used    map[int]int64
		at, fit int
	}{
		"that on which fewest fit":                        {0, nil, 2, 1},
		"of equals the first":                             {0, map[int]int64{2: 4, 1: 1, 3: 3}, 1, 1},
		"what was put there counts":                       {0, map[int]int64{0: 5}, 0, 1},
		"a node that is full is none":                     {0, map[int]int64{2: 2, 1: 4, 0: 7}, 3, 2},
		"a node that the class may not use is none":       {1, nil, 1, 3},
		"nor if pods of others are there":                 {1, map[int]int64{2: 2}, 1, 3},
		"all are full":                                    {0, map[int]int64{0: 7, 1: 4, 2: 2, 3: 6}, None, 0},
		"a node that pods of others use is tight at once": {0, map[int]int64{3: 5, 2: 4}, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			free := make([][]int64, len(in.Free))
			for n, used := range test.used {
				free[n] = []int64{in.Free[n][0] - used}
			}
			if at, fit := s.tightestNode(test.class, in.Domains[0].All, free); at != test.at || fit != test.fit {
				t.Errorf("%d on node %d, want %d on node %d", fit, at, test.fit, test.at)
			}
		})
	}
}

// Large pods come first, each on the node on which fewest more would fit.
func TestPodsArePackedQuicklyWhereTheyAreTight(t *testing.T) {
	for name, test := range map[string]struct {
		items []Item
		c     Counts
		free  nodes
		want  []string
	}{
		"large ones before small ones": {[]Item{pod(1), pod(4)}, Counts{2, 1}, nodes{{4}, {2}},
			[]string{"0 [0 1]", "1 [2 0]"}},
		"small nodes before large ones":     {[]Item{pod(2)}, Counts{3}, nodes{{8}, {3}, {4}}, []string{"1 [1]", "2 [2]"}},
		"one node takes more than once":     {[]Item{pod(1), pod(3)}, Counts{2, 1}, nodes{{5}, {9}}, []string{"0 [2 1]"}},
		"what is left goes to another node": {[]Item{pod(2)}, Counts{3}, nodes{{4}, {6}}, []string{"0 [2]", "1 [1]"}},
		"nothing is packed nowhere":         {[]Item{pod(2)}, Counts{0}, nodes{{4}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolver(onNodes(test.items, test.c, test.free), unlimited())
			parts, ok := s.quick(0, test.c)
			var got []string
			for _, part := range parts {
				got = append(got, fmt.Sprint(part.Node, part.Counts))
			}
			if diff := cmp.Diff(test.want, got); !ok || diff != "" {
				t.Errorf("packed %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// What is packed quickly may be missed, and is found by search then. Groups are never packed quickly.
func TestWhatIsNotPackedQuickly(t *testing.T) {
	s := newSolver(inRacks([]Item{pod(1), group(rack, 1)}, []int{0, 1}, nodes{{1}}), unlimited())
	if _, ok := s.quick(0, Counts{0, 1}); ok {
		t.Error("a group is packed quickly")
	}
	if _, ok := s.quick(1, Counts{1}); !ok {
		t.Error("a pod is not packed quickly")
	}
	missed := onNodes([]Item{pod(5), pod(3), pod(2)}, []int{0, 2, 5}, nodes{{7}, {9}})
	quick := newSolver(missed, unlimited())
	if _, ok := quick.quick(0, missed.Total); ok {
		t.Error("3 and 2 and 2, and 3, 2, 2 and 2 are found although 3 and 3 go on the first node")
	}
	if Solve(missed, unlimited()) == nil {
		t.Error("3 and 2 and 2, and 3, 2, 2 and 2 are not found")
	}
}

// Each choice among nodes is a step for each 128 of them. None is made after the budget.
func TestQuickPackingIsCountedByNodes(t *testing.T) {
	for _, test := range []struct{ nodes, pods, limit, steps int }{
		{127, 3, 9, 0}, {128, 3, 9, 3}, {255, 3, 9, 3}, {256, 3, 9, 6}, {256, 3, 5, 6}, {256, 3, 3, 4}, {127, 1, 0, 0},
	} {
		in := onNodes([]Item{pod(2)}, []int{test.pods}, slices.Repeat(nodes{{3}}, test.nodes))
		s := newSolver(in, &problem.Budget{Limit: test.limit})
		_, ok := s.quick(0, in.Total)
		if s.budget.Steps != test.steps || ok != (test.steps < test.limit) {
			t.Errorf("%d pods on %d nodes: %v after %d steps of %d, want %d", test.pods, test.nodes, ok, s.budget.Steps,
				test.limit, test.steps)
		}
	}
}

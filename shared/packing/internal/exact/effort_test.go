package exact

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

// placeable reports whether pods that ask for one resource fit on nodes: node by node, by what may be left
// if each takes what it can.
func placeable(in *Instance) bool {
	left := map[string]Counts{"": in.Total}
	for n := range in.Free {
		next := map[string]Counts{}
		for _, rest := range left {
			most := slices.Clone(rest)
			for class := range most {
				most[class] = min(most[class], fitting(in.Items[class].Requests, in.Free[n]))
			}
			each(most, func(c Counts) {
				if onNode(in, n, c) && !extends(c, rest, func(c Counts) bool { return onNode(in, n, c) }) {
					after := minus(rest, c)
					next[keyOf(0, after)] = after
				}
			})
		}
		left = next
	}
	_, ok := left[keyOf(0, make(Counts, len(in.Total)))]
	return ok
}

// hard are instances for which the first effort is too little.
var hard = map[string]struct {
	requests []int64
	total    Counts
	free     []int64
	fits     bool
}{
	"what the second effort finds": {[]int64{19, 13, 11, 7, 5}, Counts{3, 6, 6, 9, 5},
		[]int64{48, 44, 64, 25, 35, 51, 25}, true},
	"what the second effort finds among six classes": {[]int64{19, 17, 13, 11, 7, 5}, Counts{3, 4, 4, 3, 9, 6},
		[]int64{54, 53, 35, 42, 24, 49, 48}, true},
	"what the third effort refutes": {[]int64{19, 17, 13, 11, 7, 5}, Counts{3, 5, 3, 6, 2, 3},
		[]int64{27, 38, 48, 31, 48, 54, 30}, false},
}

// Searches that were broken off are made again with more effort, and count for nothing until then.
func TestEffortGrowsUntilSomethingIsProved(t *testing.T) {
	for name, test := range hard {
		t.Run(name, func(t *testing.T) {
			var items []Item
			for _, amount := range test.requests {
				items = append(items, pod(amount))
			}
			var free nodes
			for _, amount := range test.free {
				free = append(free, []int64{amount})
			}
			in := onNodes(items, test.total, free)
			first := newSolver(in, unlimited())
			first.effort = firstEffort
			if first.fit(0, in.Total) != nil || !first.gaveUp {
				t.Fatal("the first effort is enough")
			}
			budget := unlimited()
			root := Solve(in, budget)
			if (root != nil) != test.fits {
				t.Fatalf("found %v after %d steps", root != nil, budget.Steps)
			}
			if budget.Steps <= first.budget.Steps {
				t.Errorf("%d steps, and the first effort took %d", budget.Steps, first.budget.Steps)
			}
			short := &problem.Budget{Limit: first.budget.Steps}
			if Solve(in, short) != nil || !short.Exhausted() {
				t.Errorf("an answer after %d steps of %d", short.Steps, short.Limit)
			}
			if root != nil {
				checkNodes(t, in, root)
			}
		})
	}
}

// checkNodes judges how pods lie on the nodes of an instance without racks.
func checkNodes(t *testing.T, in *Instance, root *Packing) {
	t.Helper()
	left := minus(in.Total, nil)
	seen := map[int]bool{}
	for _, part := range root.Parts {
		if seen[part.Node] || !onNode(in, part.Node, part.Counts) {
			t.Errorf("node %d has %v", part.Node, part.Counts)
		}
		seen[part.Node], left = true, minus(left, part.Counts)
	}
	if !empty(left) {
		t.Errorf("%v are left", left)
	}
}

// drawCrowded draws pods that fill nodes, of which some are changed for others, as large in sum: they fit, or barely
// not.
func drawCrowded(t *rapid.T, least, most int) *Instance {
	requests := []int64{7, 5, 4, 3}
	var items []Item
	for _, amount := range requests[rapid.IntRange(0, 1).Draw(t, "first class"):] {
		items = append(items, pod(amount, 1))
	}
	total := make(Counts, len(items))
	var free nodes
	for range rapid.IntRange(least, most).Draw(t, "nodes") {
		sum, pods := int64(0), rapid.IntRange(1, 3).Draw(t, "pods")
		for range pods {
			class := rapid.IntRange(0, len(items)-1).Draw(t, "class")
			total[class]++
			sum += items[class].Requests[0]
		}
		free = append(free, []int64{sum, int64(pods)})
	}
	// As large in sum: 5 and 3 for 4 and 4, or 4 and 4 for 5 and 3.
	three, four, five := len(items)-1, len(items)-2, len(items)-3
	for range rapid.IntRange(0, 3).Draw(t, "changed") {
		if five >= 0 && total[five] > 0 && total[three] > 0 {
			total[five], total[four], total[three] = total[five]-1, total[four]+2, total[three]-1
		} else if five >= 0 && total[four] > 1 {
			total[five], total[four], total[three] = total[five]+1, total[four]-2, total[three]+1
		}
	}
	return onNodes(items, total, free)
}

// More nodes than are searched without the local search, and pods that fill them.
func TestCrowdedNodesArePackedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawCrowded(t, easy-1, easy+1)
		budget := &problem.Budget{Limit: 1 << 10}
		root := Solve(in, budget)
		switch {
		case root != nil:
			checkPacking(t, in, root)
		case !budget.Exhausted() && placeable(in):
			t.Fatalf("%v is refuted after %d steps, and fits", in.Total, budget.Steps)
		}
	})
}

// That the local search breaks off among the nodes of a rack says nothing of the complete search after it: what this
// refutes is refuted, and the budget is not spent on searching again.
func TestWhatTheLocalSearchGivesUpIsRefutedAllTheSame(t *testing.T) {
	in := inRacks([]Item{pod(4), pod(3), group(rack, 5, 7)}, []int{0, 0, 1}, slices.Repeat(nodes{{6}}, easy))
	s := newSolver(in, unlimited())
	s.effort = localEffort
	if s.fit(1, in.Total) != nil || !s.gaveUp {
		t.Fatal("the effort of a local search is enough")
	}
	budget := &problem.Budget{Limit: 1 << 14}
	if Solve(in, budget) != nil || budget.Exhausted() {
		t.Errorf("nothing is refuted after %d steps", budget.Steps)
	}
}

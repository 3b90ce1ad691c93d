package exact

import "packtree.dev/shared/packing/internal/problem"

// None is the level of a pod and of the whole cluster, and the absence of an index.
const None = -1

// Counts has a number of each item by index; those of pods only may end where the
// pods do.
type Counts []int

// Instance is one question: do all items fit?
type Instance struct {
	// Items are classes of pods first, then groups, each after what is in it.
	Items []Item
	// Classes is how many of the items are pods.
	Classes int
	// Total is how many of each item are to be packed.
	Total Counts
	// Free is what each node has of each resource.
	Free [][]int64
	// Domains are a tree; the whole cluster is the first.
	Domains []Domain
}

// Item is a class of pods that are alike, or of groups that are.
type Item struct {
	// Level is what a group needs one domain of; None for pods.
	Level int
	// Requests are what a pod takes of each resource, Allowed the nodes it may use.
	Requests []int64
	Allowed  []bool
	// Content is how many of each item are in a group.
	Content Counts
}

// Domain is one domain of the tree.
type Domain struct {
	Level    int
	Children []int
	// Nodes stand directly here; All are those here and below.
	Nodes, All []int
}

// Packing is how items lie in a domain.
type Packing struct {
	Domain int
	Parts  []Part
}

// Part is what lies on one node, or in one domain within.
type Part struct {
	// Node is None if Inner is set.
	Node   int
	Counts Counts
	Inner  *Packing
}

// firstEffort is enough for the nodes of a rack, mostly.
const firstEffort = 500

// Solve packs everything. It returns nil if nothing was found; unless the budget is exhausted, that proves that no
// packing exists. Most of the time goes into proofs that something does not fit into some domain, and few of these
// matter in the end: they are cut short first, and get more effort as long as nothing is found or proved.
func Solve(in *Instance, budget *problem.Budget) *Packing {
	return newSolver(in, budget).solve()
}

func (s *solver) solve() *Packing {
	for s.effort = firstEffort; ; s.effort *= 16 {
		s.gaveUp = false
		if p := s.fit(0, s.in.Total); p != nil || !s.gaveUp || s.budget.Exhausted() {
			return p
		}
		clear(s.failed)
	}
}

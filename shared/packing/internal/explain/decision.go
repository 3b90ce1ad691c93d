package explain

import (
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

// Decision is the answer of Decide.
type Decision struct {
	Verdict search.Verdict
	// Assignments has a node for each pod that got one, when Placed; groups in
	// preorder, pods in the order given.
	Assignments []Assignment
	// Groups has one entry for each group of the gang, in preorder, root first.
	Groups []GroupPlacement
	// Steps is what the search took of its budget.
	Steps int
	// Optimal says that, when Placed, no other placement has more pods, or as many
	// and fewer preferred domains. False means that the budget for improvement ran
	// out, not that a better placement exists.
	Optimal bool
	// Explanations say why pods have no node, the decisive one first, a few groups
	// at most. Empty when every pod has one.
	Explanations []Explanation
	// Certificate proves the verdict Infeasible, which is not given without one, unless
	// Options are Terse. Explanations say what it says.
	Certificate *certificate.Proof
	// Notes are things in the gang that are probably not meant, though harmless:
	// a preferred level broader than the required one, say.
	Notes []string
}

// Message is one sentence for people: the first explanation, or "".
func (d *Decision) Message() string {
	if len(d.Explanations) == 0 {
		return ""
	}
	return d.Explanations[0].Sentence
}

// Assignment gives a pod its node.
type Assignment struct {
	Pod, Node string
}

// GroupPlacement says where a group stands: its running pods and its newly assigned pods.
type GroupPlacement struct {
	// Name and Constraint are the group's own.
	Name       string
	Constraint problem.Constraint
	// Running and Placed count pods of the group and its descendants that ran
	// before, and that got a node now; Waiting counts those without one.
	Running, Placed, Waiting int
	// Satisfied says whether the group reaches its minimum.
	Satisfied bool
	// Used is how many units of its preferred level the group's pods use: domains, and
	// nodes that are in none. 0 when it prefers nothing beyond what it requires.
	Used int
	// Domains are those the group's pods occupy, for each level of its topology,
	// broadest first. Nil when the group names no topology.
	Domains []LevelDomains
}

// LevelDomains are domains of one level.
type LevelDomains struct {
	// Level is the node label key.
	Level string
	// Paths are sorted. A pod on a node without a domain at this level adds none.
	Paths []counts.Path
}

// Explanation says why some pods of a group have no node.
type Explanation struct {
	// Group is the name of the group; the root's own name for the whole gang.
	Group string
	// Topology and Level say which constraint decided; empty when none did.
	Topology, Level string
	// Domain is the nearest domain: the one where most pods fit. Nil for the whole
	// cluster.
	Domain counts.Path
	// Fit of Wanted pods fit into Domain; both zero when not the question. With a
	// certificate these and Short are its figures: at most Fit, of what the minimum
	// needs.
	Fit, Wanted int
	// Short is what lacks, by resource name; pods that filters keep off every node of
	// Domain lack none.
	Short []Shortage
	// Excluded counts the nodes of Domain that filters exclude for any of the pods
	// that do not fit, by reason.
	Excluded []Exclusion
	// Sentence says it all in one line; names sorted, no times, no counters that
	// change by themselves.
	Sentence string
}

// Shortage is what lacks of one resource.
type Shortage struct {
	Resource string
	// Amount is Needed less Free.
	Amount int64
	// Needed is what a minimum takes at least, Free what there is room for at most; for
	// pods that fit on no node what one of them asks for, and the most that any node has.
	// For pods beyond a minimum that wait: what they ask for, and what is free on nodes
	// that any of them may use, in pieces of no use to them.
	Needed, Free int64
}

// Exclusion counts nodes excluded for one reason.
type Exclusion struct {
	Reason string
	Nodes  int
}

package packing

import (
	"fmt"

	"packtree.dev/shared/packing/internal/explain"
	"packtree.dev/shared/packing/internal/search"
)

// DefaultBudget is the number of steps Decide may take unless said otherwise. A
// step is one candidate domain or node looked at in the search; the default is
// some tens of milliseconds.
const DefaultBudget = 100_000

// Placement says which of the domains that satisfy the constraints equally a
// group gets.
type Placement string

// The placements of Options.
const (
	// Pack chooses the tightest domain that fits, which keeps large domains free
	// for large gangs. It is the default.
	Pack Placement = "Pack"
	// Spread chooses the emptiest domain that fits, so that gangs share as little
	// as possible with others.
	Spread Placement = "Spread"
)

// Options tune a decision.
type Options struct {
	// Placement is Pack unless said otherwise.
	Placement Placement
	// Budget bounds the search in steps, so that equal questions get equal answers
	// on every machine; 0 means DefaultBudget, and less than 0 is invalid.
	Budget int
	// Terse leaves out why pods have no node, and what proves that they can have none,
	// which takes longer than to see it. For what-ifs that only ask whether.
	Terse bool
	// Unproved skips the proof where the gang has no place: the caller asks again in another way.
	Unproved bool
}

// Check names what is invalid in the options.
func (o Options) Check() error {
	if o.Budget < 0 {
		return fmt.Errorf("the budget is %d steps; give at least 1, or 0 for the default of %d", o.Budget, DefaultBudget)
	}
	switch o.Placement {
	case "", Pack, Spread:
		return nil
	}
	return fmt.Errorf("placement %q is unknown; use %q or %q", o.Placement, Pack, Spread)
}

// What is answered.
type (
	// Decision is the answer of Decide: a Verdict, with Assignments and Groups where it is Placed,
	// with Explanations, the first of them as Message, and a Certificate where it is Infeasible.
	Decision = explain.Decision
	// Assignment gives a Pod its Node.
	Assignment = explain.Assignment
	// GroupPlacement says where a group stands.
	GroupPlacement = explain.GroupPlacement
	// LevelDomains are domains of one level.
	LevelDomains = explain.LevelDomains
	// Explanation says why some pods of a group have no node.
	Explanation = explain.Explanation
	// Shortage is how much of a resource is short in a domain.
	Shortage = explain.Shortage
	// Exclusion counts the nodes that a filter excludes for one reason.
	Exclusion = explain.Exclusion
	// Verdict is the answer to "can this gang run now?".
	Verdict = search.Verdict
)

// The verdicts of Decide.
const (
	// Placed: all minima have nodes; further pods that fit have too.
	Placed = search.Placed
	// Infeasible: it is proved that no assignment exists on the current cluster.
	Infeasible = search.Infeasible
	// Unknown: the budget ran out before an answer.
	Unknown = search.Unknown
	// Incomplete: the gang has fewer pods than its minima ask for.
	Incomplete = search.Incomplete
	// Invalid: the gang contradicts itself or names what does not exist.
	Invalid = search.Invalid
)

package packing

import (
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/refute"
)

// What is asked: a tree of groups, with constraints, minima and relations.
type (
	// Gang is what Decide is asked to place: a tree of groups.
	Gang = problem.Gang
	// Group is a node in the tree of a gang: a parent of groups, or a leaf with pods.
	Group = problem.Group
	// Constraint keeps the pods of a group together in one topology.
	Constraint = problem.Constraint
	// Anchor ties a group to pods of another gang.
	Anchor = problem.Anchor
	// Pods are pending pods of one shape.
	Pods = problem.Pods
	// Relation says how groups, or pods, stand in domains.
	Relation = problem.Relation
)

// InputOf puts a gang and nodes into the words of package certificate. Levels
// has the levels of each topology by name. Nodes come back by name, and shapes
// that no node tells apart as one kind. O(nodes · shapes + pods).
func InputOf(gang *Gang, levels map[string][]string, nodes []certificate.Node) *certificate.Input {
	return refute.InputOf(gang, levels, nodes)
}

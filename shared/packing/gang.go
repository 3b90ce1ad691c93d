package packing

import (
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/refute"
)

// What is asked: a tree of groups, with constraints, minima and relations.
type (
	// Gang is what Decide is asked to place: Root, a tree of groups, and Relations.
	Gang = problem.Gang
	// Group is a node in the tree of a gang: a parent, which has Children and MinSubGroups, or a
	// leaf, which has Pending and Running pods and MinMember. Both have a Name, a Constraint,
	// pods of others that they Follow or stand Beside, and the names of their Relations.
	Group = problem.Group
	// Constraint keeps the pods of a group together in a Topology: in one domain of the level
	// Required, and in as few of the level Preferred as possible.
	Constraint = problem.Constraint
	// Anchor ties a group to pods of another gang: the group goes into the domain of Level of Topology that contains
	// Nodes. Explanations call these pods PodsText.
	Anchor = problem.Anchor
	// Pods are pending pods of one Shape, by Names, which come back in assignments.
	Pods = problem.Pods
	// Relation says how the groups that have its Name, or PerPod their pods, stand in the domains
	// of a Level of a Topology: at most Max in each, Near nodes, or Even if it is Preferred.
	// Others and Joined are pods of other gangs that count.
	Relation = problem.Relation
)

// InputOf puts a gang and nodes into the words of package certificate. Levels
// has the levels of each topology by name. Nodes come back by name, and shapes
// that no node tells apart as one kind. O(nodes · shapes + pods).
func InputOf(gang *Gang, levels map[string][]string, nodes []certificate.Node) *certificate.Input {
	return refute.InputOf(gang, levels, nodes)
}

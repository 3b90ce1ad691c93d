package problem

import (
	"packtree.dev/shared/packing/internal/counts"
)

// Gang is what Decide is asked to place: a tree of groups.
type Gang struct {
	// Root is the gang itself; a gang without subgroups is one leaf.
	Root Group
	// Relations say how groups, or pods, stand in domains.
	Relations []Relation
}

// Group is a node in the tree of a gang. A group with children is a parent and
// has no pods of its own; one without is a leaf.
type Group struct {
	// Name is used in answers only; it never influences a decision.
	Name string
	// Constraint holds for all pods of the group and of its descendants.
	Constraint Constraint
	// Follow ties the pods of the group to pods of other gangs.
	Follow []Anchor
	// Beside are nodes where pods of other gangs run that the preferred level
	// speaks of too: their domains count as used by the group already, so that it
	// would rather join them than open another. Without a preferred level, and for
	// nodes that the cluster doesn't know, it says nothing.
	Beside []string
	// Relations are the names of those of the gang that the group, or with PerPod each
	// of its pods, is an item of.
	Relations []string

	// Children make the group a parent.
	Children []Group
	// MinSubGroups is how many children must be satisfied; nil means all. Decide
	// chooses children that fit, not the first ones.
	MinSubGroups *int

	// MinMember is how many pods of a leaf, running and pending together, must
	// have a node. Pods beyond it are placed when they do no harm.
	MinMember int
	// Pending are the pods of a leaf that wait for a node, by shape.
	Pending []Pods
	// Running has the node name of each running pod of a leaf. They count for the
	// minimum and anchor the leaf and all its ancestors. A node that the cluster
	// doesn't know anchors nothing.
	Running []string
}

// Constraint keeps the pods of a group together in one topology.
type Constraint struct {
	// Topology is a name given to SetTopology, or empty.
	Topology string
	// Required is a level (node label key) of the topology: all pods of the group
	// stand in one domain of that level. Empty means none.
	Required string
	// Preferred is a level: the pods stand in as few domains of that level as
	// possible. Empty means none.
	Preferred string
}

// Anchor ties a group to pods of another gang: the group's pods go where those
// stand, in the same domain of the given level.
type Anchor struct {
	// Topology and Level (a node label key) say what must be shared.
	Topology, Level string
	// Nodes are where the other gang's pods run. No node, or none that the cluster
	// knows, ties to nothing.
	Nodes []string
	// PodsText is a noun phrase for these pods, such as "gang a"; empty for "the pods it follows". Explanations use it.
	PodsText string
}

// Pods are pending pods of one shape.
type Pods struct {
	Shape counts.Shape
	// Names are given back in the assignments, and have no other meaning.
	Names []string
}

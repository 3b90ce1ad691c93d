package certificate

// Input is one question, whole: may this gang run on these nodes? It is plain
// data, which anybody can build from manifests.
type Input struct {
	Topologies []Topology
	Nodes      []Node
	Kinds      []Kind
	// Groups are the tree of the gang in preorder, the root first.
	Groups []Group
	// Relations say how items must stand in domains.
	Relations []Relation
}

// Relation says how items stand in the domains of a level: the groups that name it, or
// with PerPod their pods.
type Relation struct {
	// Name is unique.
	Name            string
	Topology, Level string
	// Max is how many items may stand in a domain that a further one enters, at least 1.
	Max int
	// Near, if not nil, restricts items to the domains that contain these nodes.
	Near   []string
	PerPod bool
	// Others are further items, by the nodes of their pods. Nodes that Input.Nodes does
	// not have are in no domain.
	Others [][]string
	// Joined are nodes where other pods of its item stand, if one group names it.
	Joined []string
}

// Topology names levels (node label keys), broadest first.
type Topology struct {
	Name   string
	Levels []string
}

// Node is a machine with what pods may still take of it.
type Node struct {
	Name string
	// Free has what is not used, by resource. What is missing is zero.
	Free map[string]int64
	// Domains has, by topology, the label values of the node from the broadest
	// level down, as far as the node has every label.
	Domains map[string][]string
}

// Kind is what equal pods ask of a node.
type Kind struct {
	// Requests are what one pod takes. A negative amount counts as zero.
	Requests map[string]int64
	// Barred says by the index of a node that filters keep such pods off; nil bars
	// none.
	Barred []bool
}

// Group is one group of the tree. A group without children is a leaf; only leaves have pods.
type Group struct {
	// Name is unique in the tree.
	Name string
	// Parent is an index, -1 for the root.
	Parent int

	// Topology and Required (a level of it) keep all pods of the group and of its
	// descendants in one domain of the level, pending and running. Both may be
	// empty.
	Topology, Required string
	// Follow ties the pending pods of the group to pods of other gangs.
	Follow []Anchor
	// Relations are the names of the relations that the group is an item of. No group inside it is an item of the same
	// relation.
	Relations []string

	// MinSubGroups is how many children of a parent must be satisfied.
	MinSubGroups int
	// MinMember is how many pods of a leaf must have a node, Running included.
	MinMember int
	// Pending are the pods of a leaf that wait for a node, by kind.
	Pending []Pods
	// Running are the nodes of its running pods. A node that Nodes does not have
	// counts for the minimum and ties to nothing.
	Running []string
}

// Anchor ties pods to where others stand: the same domain of a level.
type Anchor struct {
	Topology, Level string
	// Nodes that Input.Nodes does not have tie to nothing.
	Nodes []string
}

// Pods are pending pods of one kind.
type Pods struct {
	// Kind is an index into Input.Kinds.
	Kind int
	// Names are unique in the gang.
	Names []string
}

package packing

import (
	"cmp"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/explain"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

// MaxAmount bounds every amount of a resource; larger ones are taken as this, and
// a gang that asks for more is Invalid. It is an EiB in bytes.
const MaxAmount = counts.MaxAmount

// What a cluster consists of.
type (
	// Resources are amounts by resource name.
	Resources = counts.Resources
	// Node is a machine: its Name, what is Allocatable, and Labels that say where it stands.
	Node = counts.Node
	// Pod is a pod that uses a Node, by ID, with its Requests.
	Pod = counts.Pod
	// Shape is what a pod asks of a node: Requests, and nodes that are Excluded or the Only ones,
	// with Key and Filter for the identity of both.
	Shape = counts.Shape
	// Path names a domain: label values from the broadest level down.
	Path = counts.Path
	// Room is how many pods of one shape fit into a domain if nothing else is placed.
	Room = counts.Room
	// Checkpoint marks a state of a Cluster to which Rollback can return.
	Checkpoint = counts.Checkpoint
)

// Cluster is the state that decisions are made on: topologies, nodes, and the
// pods on the nodes. The zero value is not ready; use NewCluster.
type Cluster struct{ state *counts.Cluster }

// NewCluster returns an empty cluster.
func NewCluster() *Cluster { return &Cluster{state: counts.NewCluster()} }

// SetTopology adds a topology, or replaces the one of that name. Levels are node
// label keys, broadest first, at least one and no two alike.
// O(nodes) when something changes.
func (c *Cluster) SetTopology(name string, levels []string) error {
	return c.state.SetTopology(name, levels)
}

// RemoveTopology forgets a topology; unknown names are ignored.
func (c *Cluster) RemoveTopology(name string) { c.state.RemoveTopology(name) }

// SetNode adds a node or changes it; the pods on it stay.
// O(labels of topologies + resources), and a few shared counts for each shape in
// use when the node moves between domains.
func (c *Cluster) SetNode(n Node) { c.state.SetNode(n) }

// RemoveNode takes a node away; pods assigned to it stay assigned, and count
// again when the node comes back. Unknown names are ignored.
func (c *Cluster) RemoveNode(name string) { c.state.RemoveNode(name) }

// OfferEverywhere makes each node, also one that comes later, offer so much of a
// resource besides what is its own; 0 ends that. An amount of 1 keeps pods that
// ask for 1 off each other's nodes. O(nodes), and the counts of shapes that ask
// for the resource start anew.
func (c *Cluster) OfferEverywhere(resource string, amount int64) {
	c.state.OfferEverywhere(resource, amount)
}

// Assign puts a pod on a node, or moves it there when it was assigned before.
// O(resources of the pod).
func (c *Cluster) Assign(p Pod) { c.state.Assign(p) }

// Release takes a pod off its node; unknown pods are ignored.
// O(resources of the pod).
func (c *Cluster) Release(id string) { c.state.Release(id) }

// PathOf gives the path of a node in a topology as far down as it has labels;
// nil when the node or the topology is unknown. The path is shared: read only.
func (c *Cluster) PathOf(topology, node string) Path { return c.state.PathOf(topology, node) }

// Free is how much of a resource is free on a node, at least 0: what it offers
// less what pods on it use. 0 for unknown nodes and resources. O(1).
func (c *Cluster) Free(node, resource string) int64 { return c.state.Free(node, resource) }

// Resources is how many names of resources the cluster ever met. Each takes
// some bytes a node for good.
func (c *Cluster) Resources() int { return len(c.state.ResourceNames()) }

// Room gives the room for pods of a shape in the whole cluster and in each domain of a
// topology; there are none of one that is unknown. No node counts for more than 2^20 pods.
// O(domains), and what it takes to bring the counts of the shape up to date.
func (c *Cluster) Room(shape *Shape, topology string) Room { return c.state.Room(shape, topology) }

// Shapes lists the keys of the shapes that the cluster remembers, sorted.
func (c *Cluster) Shapes() []string { return c.state.Shapes() }

// Forget drops the counts of a shape that will not be asked for again. Unused
// shapes also go by themselves in time.
func (c *Cluster) Forget(shapeKey string) { c.state.Forget(shapeKey) }

// Checkpoint begins a what-if. Checkpoints nest: each must be ended by Rollback, the
// last one first; ending an outer one ends those within. O(1).
func (c *Cluster) Checkpoint() Checkpoint { return c.state.Checkpoint() }

// Rollback undoes every change since the checkpoint and ends it. A checkpoint
// that has ended before is ignored. O(changes).
func (c *Cluster) Rollback(to Checkpoint) { c.state.Rollback(to) }

// Deficits returns for each relation of a gang how many items would have to go or to come for
// it to hold of the pods that run; 0 where it holds. An item with a pod in no domain is one.
// The error says what is invalid in the gang.
func (c *Cluster) Deficits(gang *Gang) ([]int, error) { return problem.Deficits(c.state, gang) }

// Decide answers whether and where a gang can run on the cluster as it is. It
// leaves the cluster unchanged, apart from the counts it keeps for shapes.
//
// Cost: O(groups + pods + domains looked at) where the tightest domains take the
// gang, which is usual; at most Options.Budget steps of search otherwise.
func (c *Cluster) Decide(gang *Gang, options Options) Decision {
	if err := options.Check(); err != nil {
		return explain.Invalid(gang, err)
	}
	p, err := problem.New(c.state, gang)
	if err != nil {
		return explain.Invalid(gang, err)
	}
	found := search.Run(p, cmp.Or(options.Budget, DefaultBudget), options.Placement == Spread)
	answer := explain.Of(found, gang, options.Terse || options.Unproved && found.Verdict != Placed)
	c.state.Trim()
	return answer
}

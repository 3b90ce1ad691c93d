package counts

import (
	"fmt"
	"slices"
)

// MaxAmount bounds every amount of a resource; larger ones are taken as this, and
// a gang that asks for more is Invalid. It is an EiB in bytes, and keeps sums over
// a node's pods exact.
const MaxAmount = int64(1) << 60

// maxUsed bounds what pods on one node can use together. Beyond it, which takes
// four pods of MaxAmount each, a pod is charged only what is left.
const maxUsed = int64(1) << 62

// Node is a machine: what it offers and where it stands.
type Node struct {
	Name string
	// Labels place the node in topologies. The cluster keeps the map: don't change
	// it afterwards.
	Labels map[string]string
	// Allocatable is what pods may use together.
	Allocatable Resources
}

// Pod is a pod that uses a node.
type Pod struct {
	// ID identifies the pod among all that were assigned.
	ID string
	// Node is where it stands. The node need not be known yet.
	Node     string
	Requests Resources
}

// Cluster is the state that decisions are made on; packing.Cluster says what its methods do.
type Cluster struct {
	resources resourceTable

	nodes     []node
	nodeIndex map[string]int32
	freeNodes []int32

	pods map[string]pod
	// everywhere is what each node offers besides its own, by column.
	everywhere []Quantity

	// topologies[0] is the topology without name and levels: all nodes.
	Topologies    []*Topology
	topologyIndex map[string]int

	shapes shapeTable
	// changes are of what is free, filters of what a node is.
	changes, filters changeLog
	undo             undoLog
}

// node is one machine, or a ghost: known only because pods stand on it.
type node struct {
	name        string
	labels      map[string]string
	allocatable []Quantity
	present     bool
	pods        int
}

type pod struct {
	node    int32
	charged []Quantity
}

// NewCluster returns an empty cluster.
func NewCluster() *Cluster {
	c := &Cluster{
		resources:     newResourceTable(),
		nodeIndex:     map[string]int32{},
		pods:          map[string]pod{},
		topologyIndex: map[string]int{},
		shapes:        newShapeTable(),
	}
	c.Topologies = []*Topology{newTopology("", nil)}
	return c
}

// SetTopology adds a topology, or replaces the one of that name.
func (c *Cluster) SetTopology(name string, levels []string) error {
	if err := checkLevels(name, levels); err != nil {
		return err
	}
	if i, ok := c.topologyIndex[name]; ok {
		if slices.Equal(c.Topologies[i].Levels, levels) {
			return nil
		}
		c.RemoveTopology(name)
	}
	c.undo.add(func(c *Cluster) { c.RemoveTopology(name) })
	c.plantTopology(newTopology(name, slices.Clone(levels)))
	return nil
}

func checkLevels(name string, levels []string) error {
	if name == "" {
		return fmt.Errorf("a topology needs a name")
	}
	if len(levels) == 0 {
		return fmt.Errorf("topology %q has no levels", name)
	}
	for i, level := range levels {
		if slices.Contains(levels[:i], level) {
			return fmt.Errorf("topology %q has level %q twice", name, level)
		}
	}
	return nil
}

func (c *Cluster) plantTopology(t *Topology) {
	slot := slices.Index(c.Topologies, nil)
	if slot < 0 {
		slot = len(c.Topologies)
		c.Topologies = append(c.Topologies, nil)
	}
	c.Topologies[slot] = t
	c.topologyIndex[t.Name] = slot
	for i := range c.nodes {
		t.addNode()
		if c.nodes[i].present {
			t.enter(int32(i), t.locate(c.nodes[i].labels), c.NodeName)
		}
	}
	c.shapes.invalidate()
}

// RemoveTopology forgets a topology.
func (c *Cluster) RemoveTopology(name string) {
	i, ok := c.topologyIndex[name]
	if !ok {
		return
	}
	levels := c.Topologies[i].Levels
	c.undo.add(func(c *Cluster) { c.plantTopology(newTopology(name, levels)) })
	c.Topologies[i] = nil
	delete(c.topologyIndex, name)
}

// SetNode adds a node or changes it.
func (c *Cluster) SetNode(n Node) {
	i, known := c.nodeIndex[n.Name]
	if !known {
		i = c.addNode(n.Name)
	}
	c.recordNode(i)
	c.putNode(i, n.Labels, c.resources.quantities(n.Allocatable))
}

// RemoveNode takes a node away.
func (c *Cluster) RemoveNode(name string) {
	i, known := c.nodeIndex[name]
	if !known {
		return
	}
	c.recordNode(i)
	c.takeNode(i)
}

// recordNode lets a rollback restore a node as it is now.
func (c *Cluster) recordNode(i int32) {
	if !c.undo.open() {
		return
	}
	old := c.nodes[i]
	c.undo.add(func(c *Cluster) {
		if old.present {
			at, known := c.nodeIndex[old.name]
			if !known {
				at = c.addNode(old.name)
			}
			c.putNode(at, old.labels, old.allocatable)
		} else if at, known := c.nodeIndex[old.name]; known {
			c.takeNode(at)
		}
	})
}

func (c *Cluster) addNode(name string) int32 {
	var i int32
	if n := len(c.freeNodes); n > 0 {
		i = c.freeNodes[n-1]
		c.freeNodes = c.freeNodes[:n-1]
	} else {
		i = int32(len(c.nodes))
		c.nodes = append(c.nodes, node{})
		c.resources.addRow()
		for _, t := range c.Topologies {
			if t != nil {
				t.addNode()
			}
		}
	}
	c.nodes[i] = node{name: name}
	c.nodeIndex[name] = i
	return i
}

// putNode makes a node present with these labels and amounts.
func (c *Cluster) putNode(i int32, labels map[string]string, allocatable []Quantity) {
	n := &c.nodes[i]
	c.resources.take(i, n.allocatable)
	c.resources.give(i, allocatable)
	if !n.present {
		c.resources.give(i, c.everywhere)
	}
	n.labels, n.allocatable, n.present = labels, allocatable, true
	for slot, t := range c.Topologies {
		if t == nil || t.Home[i] != None && t.stands(t.Home[i], labels) {
			continue
		}
		c.move(slot, i, func() { t.enter(i, t.locate(labels), c.NodeName) })
	}
	c.changes.add(i, len(c.nodes))
	c.filters.add(i, len(c.nodes))
}

// takeNode makes a node absent, and forgets it unless pods stand on it.
func (c *Cluster) takeNode(i int32) {
	n := &c.nodes[i]
	if n.present {
		c.resources.take(i, n.allocatable)
		c.resources.take(i, c.everywhere)
		for slot, t := range c.Topologies {
			if t != nil {
				c.move(slot, i, func() {})
			}
		}
		n.labels, n.allocatable, n.present = nil, nil, false
		c.changes.add(i, len(c.nodes))
		c.filters.add(i, len(c.nodes))
	}
	c.forgetGhost(i)
}

// move takes a node out of its domain, if it is in one, and lets enter put it
// elsewhere, while the counts of all shapes follow.
func (c *Cluster) move(slot int, i int32, enter func()) {
	t := c.Topologies[slot]
	if t.Home[i] != None {
		c.shapes.leave(slot, t, i)
		t.leave(i, c.NodeName)
	}
	enter()
	if t.Home[i] != None {
		c.shapes.enter(slot, t, i)
	}
}

func (c *Cluster) forgetGhost(i int32) {
	n := &c.nodes[i]
	if n.present || n.pods > 0 || n.name == "" {
		return
	}
	delete(c.nodeIndex, n.name)
	c.nodes[i] = node{}
	c.freeNodes = append(c.freeNodes, i)
}

// Assign puts a pod on a node, or moves it there.
func (c *Cluster) Assign(p Pod) {
	c.Release(p.ID)
	if c.undo.open() {
		c.undo.add(func(c *Cluster) { c.Release(p.ID) })
	}
	i, known := c.nodeIndex[p.Node]
	if !known {
		i = c.addNode(p.Node)
	}
	charged := c.resources.charge(i, c.resources.quantities(p.Requests))
	c.nodes[i].pods++
	c.pods[p.ID] = pod{node: i, charged: charged}
	c.changes.add(i, len(c.nodes))
}

// Release takes a pod off its node.
func (c *Cluster) Release(id string) {
	p, ok := c.pods[id]
	if !ok {
		return
	}
	if c.undo.open() {
		name := c.nodes[p.node].name
		c.undo.add(func(c *Cluster) { c.restore(id, name, p.charged) })
	}
	c.resources.refund(p.node, p.charged)
	c.nodes[p.node].pods--
	delete(c.pods, id)
	c.changes.add(p.node, len(c.nodes))
	c.forgetGhost(p.node)
}

func (c *Cluster) restore(id, nodeName string, charged []Quantity) {
	i, known := c.nodeIndex[nodeName]
	if !known {
		i = c.addNode(nodeName)
	}
	c.resources.recharge(i, charged)
	c.nodes[i].pods++
	c.pods[id] = pod{node: i, charged: charged}
	c.changes.add(i, len(c.nodes))
}

// PathOf gives the path of a node in a topology.
func (c *Cluster) PathOf(topologyName, nodeName string) Path {
	slot, ok := c.topologyIndex[topologyName]
	i, known := c.nodeIndex[nodeName]
	if !ok || !known || !c.nodes[i].present {
		return nil
	}
	t := c.Topologies[slot]
	return t.Domains[t.Home[i]].Path
}

// Rows is the number of nodes including absent ones; node indices run from 0.
func (c *Cluster) Rows() int { return len(c.nodes) }

// Find gives the number of a node, and whether it is present.
func (c *Cluster) Find(name string) (node int32, present bool) {
	node, known := c.nodeIndex[name]
	return node, known && c.nodes[node].present
}

// NodeName is the name of a node.
func (c *Cluster) NodeName(node int32) string { return c.nodes[node].name }

// FreeOn has what is free on a node, by column. It is the table's own row: a trial writes there.
func (c *Cluster) FreeOn(node int32) []int64 { return c.resources.row(node) }

// ResourceNames are those of the columns.
func (c *Cluster) ResourceNames() []string { return c.resources.names }

// Column is that of a resource; 0 if no node offers it and no pod asks for it.
func (c *Cluster) Column(resource string) (column int, known bool) {
	column, known = c.resources.index[resource]
	return column, known
}

// SlotOf is the place of a topology among all; 0, which has all nodes and no levels, if it is unknown.
func (c *Cluster) SlotOf(topology string) (slot int, known bool) {
	slot, known = c.topologyIndex[topology]
	return slot, known
}

// Levels has the levels of each topology by name.
func (c *Cluster) Levels() map[string][]string {
	levels := map[string][]string{}
	for name, slot := range c.topologyIndex {
		levels[name] = c.Topologies[slot].Levels
	}
	return levels
}

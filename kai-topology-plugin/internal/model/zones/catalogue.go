package zones

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Bounds of what a Catalogue remembers: changes, and owners that avoid nodes.
const (
	rememberedChanges = 4096
	rememberedOwners  = 1024
)

// Catalogue is all that is known of the zones of a cluster's nodes. It is safe for concurrent use; the zero value is
// empty.
type Catalogue struct {
	mu        sync.RWMutex
	nodes     map[string]*Node
	enforcing int
	// changes are the nodes of the last versions, of which the last is version.
	changes []string
	version int
	// holds are the zones of pods by node, and places the nodes of these pods.
	holds  map[string]map[types.UID]Held
	places map[types.UID]string
	// avoided are the nodes that owners avoid, and owners all of these, the first to avoid any first.
	avoided map[string]map[string]bool
	owners  []string
}

// Set adds or replaces what is known of a node. It keeps nothing that is Equal to what is there. Where zones change,
// those of pods on the node are forgotten.
func (c *Catalogue) Set(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.nodes[n.Name]
	if n.Equal(before) {
		return
	}
	if c.nodes == nil {
		c.nodes = map[string]*Node{}
	}
	c.nodes[n.Name] = n
	c.changed(n.Name, before, n)
}

// Remove forgets a node.
func (c *Catalogue) Remove(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.nodes[node]; before != nil {
		delete(c.nodes, node)
		c.changed(node, before, nil)
	}
}

func (c *Catalogue) changed(name string, before, after *Node) {
	if before.Enforces() {
		c.enforcing--
	}
	if after.Enforces() {
		c.enforcing++
	}
	c.version++
	if c.changes = append(c.changes, name); len(c.changes) > 2*rememberedChanges {
		c.changes = slices.Clone(c.changes[rememberedChanges:])
	}
	if !sameZones(before, after) {
		for uid := range c.holds[name] {
			delete(c.places, uid)
		}
		delete(c.holds, name)
	}
	for owner, nodes := range c.avoided {
		if delete(nodes, name); len(nodes) == 0 {
			c.forget(owner)
		}
	}
}

// sameZones reports whether what pods hold of a node before can be counted after.
func sameZones(before, after *Node) bool {
	return before != nil && after != nil &&
		slices.EqualFunc(before.Zones, after.Zones, func(a, b Zone) bool { return a.Name == b.Name })
}

// Node is what is known of a node, nil if there is none; also for a nil Catalogue.
func (c *Catalogue) Node(name string) *Node {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.nodes[name]
}

// Enforcing is how many nodes enforce; 0 for a nil Catalogue.
func (c *Catalogue) Enforcing() int {
	if c == nil {
		return 0
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.enforcing
}

// Changes returns the nodes that changed since a version, sorted, and the version that is current now. all is set
// instead of nodes if anything may have changed: since is 0 or too long ago. Version 0 is that of the empty Catalogue.
func (c *Catalogue) Changes(since int) (nodes []string, all bool, now int) {
	if c == nil {
		return nil, false, 0
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch behind := c.version - since; {
	case behind == 0:
		return nil, false, c.version
	case since == 0, behind < 0, behind > len(c.changes):
		return nil, true, c.version
	default:
		nodes = slices.Sorted(slices.Values(c.changes[len(c.changes)-behind:]))
		return slices.Compact(nodes), false, c.version
	}
}

// Hold remembers the zones of a pod for as long as it is on the node, which Release ends. A node without a
// NodeResourceTopology has none to remember.
func (c *Catalogue) Hold(node string, uid types.UID, held Held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(uid)
	if n := c.nodes[node]; n == nil || len(held) != len(n.Zones) {
		return
	}
	if c.places == nil {
		c.places, c.holds = map[types.UID]string{}, map[string]map[types.UID]Held{}
	}
	if c.holds[node] == nil {
		c.holds[node] = map[types.UID]Held{}
	}
	c.places[uid], c.holds[node][uid] = node, held
}

// Release forgets the zones of a pod.
func (c *Catalogue) Release(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(uid)
}

func (c *Catalogue) release(uid types.UID) {
	node, ok := c.places[uid]
	if !ok {
		return
	}
	delete(c.places, uid)
	if delete(c.holds[node], uid); len(c.holds[node]) == 0 {
		delete(c.holds, node)
	}
}

// Held is what Hold remembers of a pod.
func (c *Catalogue) Held(uid types.UID) (Held, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	held, ok := c.holds[c.places[uid]][uid]
	return held, ok
}

// Avoid leaves a node out for an owner (a gang or a controller, any key) until what its object says changes. The oldest
// of more than a thousand owners is forgotten.
func (c *Catalogue) Avoid(owner, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.avoided == nil {
		c.avoided = map[string]map[string]bool{}
	}
	if c.avoided[owner] == nil {
		if len(c.owners) == rememberedOwners {
			c.forget(c.owners[0])
		}
		c.avoided[owner], c.owners = map[string]bool{}, append(c.owners, owner)
	}
	c.avoided[owner][node] = true
}

func (c *Catalogue) forget(owner string) {
	delete(c.avoided, owner)
	c.owners = slices.DeleteFunc(c.owners, func(other string) bool { return other == owner })
}

// Avoids reports whether an owner avoids a node.
func (c *Catalogue) Avoids(owner, node string) bool {
	if c == nil {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.avoided[owner][node]
}

// AvoidsAny reports whether an owner avoids any node.
func (c *Catalogue) AvoidsAny(owner string) bool {
	if c == nil {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.avoided[owner]) > 0
}

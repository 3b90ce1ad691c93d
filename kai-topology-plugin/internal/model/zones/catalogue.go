package zones

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Bounds of what a Catalogue remembers: changes, nodes that owners avoid, and pods that have left.
const (
	rememberedChanges = 4096
	rememberedAvoided = 1024
	rememberedLeft    = 1024
)

// Catalogue is all that is known of the zones of a cluster's nodes. It is safe for concurrent use; the zero value is
// empty.
type Catalogue struct {
	mu        sync.RWMutex
	nodes     map[string]*Node
	enforcing int
	// changes are the nodes that changed in the last versions, up to version.
	changes []string
	version int
	// reopened is the last version by which an owner need not avoid a node any more.
	reopened int
	// next is closed at the next change; nil if nothing waits for it.
	next    chan struct{}
	holds   map[types.UID]hold
	avoided []avoided
	// left are pods of holds that are on no node any more, the last ones.
	left []types.UID
	// outdated are the nodes to which pods came, or that pods left, after their objects were written.
	outdated map[string]bool
}

// hold is what a pod holds of a node.
type hold struct {
	node string
	held Held
}

// avoided is a node that an owner avoids.
type avoided struct{ owner, node string }

// look reads a catalogue; a nil catalogue has nothing.
func look[T any](c *Catalogue, read func() T) (known T) {
	if c == nil {
		return known
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return read()
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

// With returns a catalogue that also knows some nodes. Later changes of one are none of the other.
func (c *Catalogue) With(nodes ...*Node) *Catalogue {
	with := look(c, func() *Catalogue {
		return &Catalogue{
			nodes: maps.Clone(c.nodes), enforcing: c.enforcing, changes: slices.Clone(c.changes), version: c.version,
			holds: maps.Clone(c.holds), avoided: slices.Clone(c.avoided), outdated: maps.Clone(c.outdated),
		}
	})
	if with == nil {
		with = &Catalogue{}
	}
	for _, node := range nodes {
		with.Set(node)
	}
	return with
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
	delete(c.outdated, name)
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
	if c.changes = append(c.changes, name); len(c.changes) > 2*rememberedChanges {
		c.changes = slices.Clone(c.changes[rememberedChanges:])
	}
	if !sameZones(before, after) {
		maps.DeleteFunc(c.holds, func(_ types.UID, hold hold) bool { return hold.node == name })
	}
	if before == nil {
		return // A pod that was rejected may be known before the object.
	}
	rest := slices.DeleteFunc(c.avoided, func(avoided avoided) bool { return avoided.node == name })
	if len(rest) < len(c.avoided) {
		c.reopened = c.version
	}
	c.avoided = rest
}

// sameZones reports whether what pods hold of a node before can be counted after.
func sameZones(before, after *Node) bool {
	return before != nil && after != nil &&
		slices.EqualFunc(before.Zones, after.Zones, func(a, b Zone) bool { return a.Name == b.Name })
}

// Reopened reports whether an owner need not avoid a node any more that it avoided at a version.
func (c *Catalogue) Reopened(since int) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.reopened > since
}

// Await returns true once there is another version than the one that was seen, and false once the context is done.
func (c *Catalogue) Await(ctx context.Context, seen int) bool {
	for {
		c.mu.Lock()
		if c.version != seen {
			c.mu.Unlock()
			return true
		}
		if c.next == nil {
			c.next = make(chan struct{})
		}
		next := c.next
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return false
		case <-next:
		}
	}
}

// Node is what is known of a node, nil if there is none; also for a nil Catalogue.
func (c *Catalogue) Node(name string) *Node {
	return look(c, func() *Node { return c.nodes[name] })
}

// Nodes returns what is known of all nodes, by name.
func (c *Catalogue) Nodes() []*Node {
	nodes := look(c, func() []*Node { return slices.Collect(maps.Values(c.nodes)) })
	slices.SortFunc(nodes, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}

// Enforcing is how many nodes enforce; 0 for a nil Catalogue.
func (c *Catalogue) Enforcing() int {
	return look(c, func() int { return c.enforcing })
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

// Outdate takes note that a pod came to a node, or left it: what the object shows as available is of before.
func (c *Catalogue) Outdate(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[node] == nil {
		return
	}
	if c.outdated == nil {
		c.outdated = map[string]bool{}
	}
	c.outdated[node] = true
}

// Usage counts pods on a node, as Node.Usage does with what the catalogue holds of them. What an outdated object shows
// of their zones is not believed: as much may be in use as then, but of other pods.
func (c *Catalogue) Usage(node string, pods []*corev1.Pod) *Usage {
	n := c.Node(node)
	if !n.Enforces() {
		return nil
	}
	u := n.count(pods, c.Held)
	if !c.Outdated(node) {
		u.observe()
	}
	return u
}

// Outdated reports whether the object of a node was written before the last pod came to the node, or left it.
func (c *Catalogue) Outdated(node string) bool {
	return look(c, func() bool { return c.outdated[node] })
}

// Hold remembers the zones of a pod for as long as it is on the node, which Release ends. A node without a
// NodeResourceTopology has none to remember.
func (c *Catalogue) Hold(node string, uid types.UID, held Held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.holds, uid)
	if n := c.nodes[node]; n == nil || len(held) != len(n.Zones) {
		return
	}
	if c.holds == nil {
		c.holds = map[types.UID]hold{}
	}
	c.holds[uid] = hold{node, held}
}

// Release forgets the zones of a pod.
func (c *Catalogue) Release(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.holds, uid)
}

// Leave is Release for a pod that is gone. Held still knows the last thousand of them: that a pod was rejected may be
// heard of after it left.
func (c *Catalogue) Leave(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, held := c.holds[uid]; !held || slices.Contains(c.left, uid) {
		return
	}
	if c.left = append(c.left, uid); len(c.left) > rememberedLeft {
		delete(c.holds, c.left[0])
		c.left = slices.Delete(c.left, 0, 1)
	}
}

// Held is what Hold remembers of a pod.
func (c *Catalogue) Held(uid types.UID) (Held, bool) {
	held := look(c, func() Held { return c.holds[uid].held })
	return held, held != nil
}

// Avoid leaves a node out for an owner (a gang or a controller, any key) until what its object says changes. The oldest
// of more than a thousand is forgotten.
func (c *Catalogue) Avoid(owner, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.avoided, avoided{owner, node}) {
		return
	}
	if c.avoided = append(c.avoided, avoided{owner, node}); len(c.avoided) > rememberedAvoided {
		c.avoided = slices.Delete(c.avoided, 0, 1)
	}
}

// Avoids reports whether an owner avoids a node.
func (c *Catalogue) Avoids(owner, node string) bool {
	return look(c, func() bool { return slices.Contains(c.avoided, avoided{owner, node}) })
}

// AvoidsAny reports whether an owner avoids any node.
func (c *Catalogue) AvoidsAny(owner string) bool {
	return look(c, func() bool {
		return slices.ContainsFunc(c.avoided, func(avoided avoided) bool { return avoided.owner == owner })
	})
}

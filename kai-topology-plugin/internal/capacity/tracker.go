// Package capacity keeps the free capacity of topology domains as nodes and pods come and go, so that it can be read at any
// time without looking at every node.
package capacity

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/shared/packing"
)

// Tracker is the capacity of all domains of all topologies. Its methods may be called from any goroutine, with events in any
// order: a pod may come before its node.
type Tracker struct {
	mu         sync.Mutex
	resources  *resources
	topologies map[string]*topology
	nodes      map[string]*node
	pods       map[types.UID]pod
}

// node is known by an event of its own, by a pod on it, or both.
type node struct {
	labels  map[string]string
	usable  bool
	offered amounts
	used    amounts
	// counted is what the domains have been given for the node, to be taken back before the node changes.
	counted share
}

type pod struct {
	node     string
	requests amounts
}

// share is what one node adds to each of its domains.
type share struct {
	offered, free amounts
}

// New returns a tracker that knows nothing.
func New() *Tracker {
	return &Tracker{
		resources:  newResources(),
		topologies: map[string]*topology{},
		nodes:      map[string]*node{},
		pods:       map[types.UID]pod{},
	}
}

// SetTopology makes a topology known, or gives it other levels: node label keys, the broadest first.
func (t *Tracker) SetTopology(name string, levels []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	made := newTopology(levels)
	for _, node := range t.nodes {
		made.enter(node)
	}
	t.topologies[name] = made
}

// RemoveTopology forgets a topology.
func (t *Tracker) RemoveTopology(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.topologies, name)
}

// SetNode makes a node known or changes it. Only a usable node, one that takes new pods, counts.
func (t *Tracker) SetNode(name string, labels map[string]string, allocatable packing.Resources, usable bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(name, func(n *node) {
		n.labels, n.usable, n.offered = labels, usable, t.resources.amounts(allocatable)
	})
}

// RemoveNode forgets what a node offers.
func (t *Tracker) RemoveNode(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(name, func(n *node) { n.labels, n.usable, n.offered = nil, false, nil })
}

// SetPod puts a pod on a node, or changes what it takes there.
func (t *Tracker) SetPod(uid types.UID, nodeName string, requests packing.Resources) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := t.resources.amounts(requests)
	if known, ok := t.pods[uid]; ok {
		if known.node == nodeName && known.requests.equal(wanted) {
			return
		}
		t.removePod(uid)
	}
	t.pods[uid] = pod{node: nodeName, requests: wanted}
	t.change(nodeName, func(n *node) { n.used = n.used.plus(wanted, 1) })
}

// RemovePod takes a pod off its node.
func (t *Tracker) RemovePod(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removePod(uid)
}

func (t *Tracker) removePod(uid types.UID) {
	known, ok := t.pods[uid]
	if !ok {
		return
	}
	delete(t.pods, uid)
	t.change(known.node, func(n *node) { n.used = n.used.plus(known.requests, -1) })
}

// change takes a node out of its domains, changes it, and puts it into those where it now belongs.
func (t *Tracker) change(name string, change func(*node)) {
	changed := t.nodes[name]
	if changed == nil {
		changed = &node{}
		t.nodes[name] = changed
	}
	for _, topology := range t.topologies {
		topology.leave(changed)
	}
	change(changed)
	changed.counted = share{}
	if changed.usable {
		changed.counted = share{offered: changed.offered, free: changed.offered.less(changed.used)}
	}
	for _, topology := range t.topologies {
		topology.enter(changed)
	}
	if changed.offered == nil && changed.used.zero() {
		delete(t.nodes, name)
	}
}

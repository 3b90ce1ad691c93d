package capacity

import (
	"maps"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/packing"
)

// Stock is what nodes offer and what is free on them at one moment. It is not changed any more.
type Stock struct {
	// Nodes are in no order.
	Nodes []Node
	// columns has, by resource, where its amount is in the free amounts of nodes.
	columns map[string]int
	// relabelled is another number whenever another node, or a node with other labels, is at a place in Nodes.
	relabelled int
	// replaced is another number whenever that is so, or one may take other pods.
	replaced int
}

// Tracker follows nodes and the pods on them as they come and go, so that a look at all of them is a copy. The zero
// value is ready, for any goroutine.
type Tracker struct {
	mu     sync.Mutex
	stock  Stock
	places map[string]int
	// used has what the pods on a node ask for, also on nodes that are not known yet.
	used map[string]packing.Resources
}

// Stock returns what is free now.
func (t *Tracker) Stock() Stock {
	t.mu.Lock()
	defer t.mu.Unlock()
	stock := t.stock
	stock.Nodes, stock.columns = append([]Node(nil), stock.Nodes...), maps.Clone(stock.columns)
	return stock
}

// NodeSeen records a node as it is now, with what it offers.
func (t *Tracker) NodeSeen(node *corev1.Node, allocatable packing.Resources) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.places == nil {
		t.places, t.stock.columns = map[string]int{}, map[string]int{}
	}
	for name := range allocatable {
		if _, known := t.stock.columns[name]; !known {
			t.stock.columns[name] = len(t.stock.columns)
		}
	}
	at, known := t.places[node.Name]
	if !known {
		at = len(t.stock.Nodes)
		t.places[node.Name], t.stock.Nodes = at, append(t.stock.Nodes, Node{})
	}
	entry := &t.stock.Nodes[at]
	if !known || !maps.Equal(entry.Labels, node.Labels) {
		t.stock.relabelled++
	}
	if !known || !sameToPods(entry.object, node) {
		t.stock.replaced++
		entry.object = node
	}
	entry.Labels, entry.Usable, entry.Allocatable = node.Labels, !node.Spec.Unschedulable, allocatable
	t.recount(entry)
}

// sameToPods reports whether two versions of a node take the same pods, as far as their objects say.
func sameToPods(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable && maps.Equal(a.Labels, b.Labels) &&
		reflect.DeepEqual(a.Spec.Taints, b.Spec.Taints)
}

// NodeGone records that there is no such node any more.
func (t *Tracker) NodeGone(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, known := t.places[name]
	if !known {
		return
	}
	last := len(t.stock.Nodes) - 1
	t.stock.Nodes[at] = t.stock.Nodes[last]
	t.places[t.stock.Nodes[at].object.Name] = at
	t.stock.Nodes[last] = Node{}
	t.stock.Nodes = t.stock.Nodes[:last]
	delete(t.places, name)
	t.stock.relabelled++
	t.stock.replaced++
}

// Take records that a pod on a node asks for this.
func (t *Tracker) Take(node string, requests packing.Resources) { t.add(node, requests, 1) }

// GiveBack records that a pod that asked for this has left a node.
func (t *Tracker) GiveBack(node string, requests packing.Resources) { t.add(node, requests, -1) }

func (t *Tracker) add(node string, requests packing.Resources, sign int64) {
	if len(requests) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil {
		t.used = map[string]packing.Resources{}
	}
	used := maps.Clone(t.used[node]) // Copies of the stock have the one before.
	if used == nil {
		used = packing.Resources{}
	}
	for name, amount := range requests {
		used[name] += sign * amount
		if used[name] == 0 {
			delete(used, name)
		}
	}
	t.used[node] = used
	if len(used) == 0 {
		delete(t.used, node)
	}
	if at, known := t.places[node]; known {
		t.recount(&t.stock.Nodes[at])
	}
}

// recount writes what is free on a node anew. What copies of the stock have of it stays as it is.
func (t *Tracker) recount(entry *Node) {
	entry.Used = t.used[entry.object.Name]
	entry.free = make([]int64, len(t.stock.columns))
	for name, amount := range entry.Allocatable {
		entry.free[t.stock.columns[name]] = max(0, amount-entry.Used[name])
	}
}

package capacity

import "packtree.dev/shared/packing"

// topology has the domains of every level.
type topology struct {
	levels  []string
	domains []map[string]*domain
}

// domain is the sum over its nodes.
type domain struct {
	nodes         int
	offered, free amounts
}

func newTopology(levels []string) *topology {
	made := &topology{levels: levels, domains: make([]map[string]*domain, len(levels))}
	for i := range made.domains {
		made.domains[i] = map[string]*domain{}
	}
	return made
}

// enter adds what the node counts for to its domains: as far down as it has every label from the top.
func (t *topology) enter(n *node) {
	if n.offered == nil {
		return
	}
	t.visit(n, func(level int, path string) {
		at := t.domains[level][path]
		if at == nil {
			at = &domain{}
			t.domains[level][path] = at
		}
		at.nodes++
		at.offered, at.free = at.offered.plus(n.counted.offered, 1), at.free.plus(n.counted.free, 1)
	})
}

// leave takes back what enter added.
func (t *topology) leave(n *node) {
	if n.offered == nil {
		return
	}
	t.visit(n, func(level int, path string) {
		at := t.domains[level][path]
		at.offered, at.free = at.offered.plus(n.counted.offered, -1), at.free.plus(n.counted.free, -1)
		if at.nodes--; at.nodes == 0 {
			delete(t.domains[level], path)
		}
	})
}

func (t *topology) visit(n *node, domain func(level int, path string)) {
	path := make(packing.Path, 0, len(t.levels))
	for i, key := range t.levels {
		value, ok := n.labels[key]
		if !ok {
			return
		}
		path = append(path, value)
		domain(i, path.String())
	}
}

package packing

import (
	"slices"
	"strings"
)

// none marks the absence of a node, domain or level in index fields.
const none = -1

// whole is the index of every topology's root domain: the whole cluster. Nodes
// without the broadest label stand directly in it.
const whole = int32(0)

// domain is one place in the tree of a topology.
type domain struct {
	parent int32
	// level counts from the broadest, 0; the root has none.
	level int
	path  Path
	// children are the domains one level down, by value; nodes are those that
	// stand here and no deeper, by name. The orders are what breaks ties, so that
	// answers do not depend on the history of the cluster.
	children, nodes []int32
	// size counts the nodes here and below.
	size int
	// rank numbers the domain within its level; see rankedDomains.
	rank int32
}

// topology is the tree of domains that the nodes' labels span along its levels.
type topology struct {
	name   string
	levels []string
	// domains by index; those in free are unused.
	domains []domain
	free    []int32
	// home is the deepest domain of each node, by node index; none when the node
	// is not in the cluster. chain has its domain at each level, node by node.
	home  []int32
	chain []int32
	// rankings are by level.
	rankings []ranking
	// marked has the stamp of the last walk that passed a domain.
	marked []int
	stamp  int
}

func newTopology(name string, levels []string) *topology {
	return &topology{
		name:    name,
		levels:  levels,
		domains: []domain{{parent: none, level: none}},
		// Versions begin at 1, so that 0 means "never".
		rankings: slices.Repeat([]ranking{{version: 1}}, len(levels)),
	}
}

// level gives the index of a node label key, or none.
func (t *topology) level(key string) int {
	return slices.Index(t.levels, key)
}

// locate finds or makes the domain of a node with these labels: as far down as
// it has every label from the top. O(levels · log children).
func (t *topology) locate(labels map[string]string) int32 {
	at := whole
	for level, key := range t.levels {
		value, ok := labels[key]
		if !ok {
			break
		}
		at = t.child(at, level, value)
	}
	return at
}

// stands reports whether locate would give the domain at, without making any.
func (t *topology) stands(at int32, labels map[string]string) bool {
	path := t.domains[at].path
	for level, key := range t.levels {
		value, ok := labels[key]
		if !ok {
			return level == len(path)
		}
		if level >= len(path) || path[level] != value {
			return false
		}
	}
	return true
}

func (t *topology) child(parent int32, level int, value string) int32 {
	children := t.domains[parent].children
	i, found := slices.BinarySearchFunc(children, value, func(d int32, value string) int {
		return strings.Compare(t.domains[d].path[level], value)
	})
	if found {
		return children[i]
	}
	path := append(slices.Clone(t.domains[parent].path), value)
	d := t.allocate(domain{parent: parent, level: level, path: path})
	t.domains[parent].children = slices.Insert(children, i, d)
	t.rankings[level].version++
	t.rankings[level].count++
	return d
}

func (t *topology) allocate(d domain) int32 {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.domains[i] = d
		return i
	}
	t.domains = append(t.domains, d)
	return int32(len(t.domains) - 1)
}

// enter puts a node at a domain; names orders nodes.
func (t *topology) enter(node, at int32, names func(int32) string) {
	d := &t.domains[at]
	i := searchNode(d.nodes, node, names)
	d.nodes = slices.Insert(d.nodes, i, node)
	t.home[node] = at
	for ; at != none; at = t.domains[at].parent {
		t.domains[at].size++
		if at != whole {
			t.chain[int(node)*len(t.levels)+t.domains[at].level] = at
		}
	}
}

// addNode makes room for a node, which is nowhere yet.
func (t *topology) addNode() {
	t.home = append(t.home, none)
	for range t.levels {
		t.chain = append(t.chain, none)
	}
}

// leave takes a node out of its domain and drops domains that become empty.
func (t *topology) leave(node int32, names func(int32) string) {
	at := t.home[node]
	d := &t.domains[at]
	i := searchNode(d.nodes, node, names)
	d.nodes = slices.Delete(d.nodes, i, i+1)
	t.home[node] = none
	for level := range t.levels {
		t.chain[int(node)*len(t.levels)+level] = none
	}
	for at != none {
		parent := t.domains[at].parent
		t.domains[at].size--
		if t.domains[at].size == 0 && at != whole {
			t.drop(at)
		}
		at = parent
	}
}

func (t *topology) drop(at int32) {
	siblings := &t.domains[t.domains[at].parent].children
	i := slices.Index(*siblings, at)
	*siblings = slices.Delete(*siblings, i, i+1)
	t.rankings[t.domains[at].level].version++
	t.rankings[t.domains[at].level].count--
	t.domains[at] = domain{}
	t.free = append(t.free, at)
}

func searchNode(nodes []int32, node int32, names func(int32) string) int {
	name := names(node)
	// Nodes mostly come in order, so look at the end first.
	if n := len(nodes); n > 0 && names(nodes[n-1]) < name {
		return n
	}
	i, _ := slices.BinarySearchFunc(nodes, name, func(other int32, name string) int {
		return strings.Compare(names(other), name)
	})
	return i
}

// ancestor climbs from a domain to the given level; none when the domain is
// broader than that.
func (t *topology) ancestor(at int32, level int) int32 {
	for at != none && t.domains[at].level > level {
		at = t.domains[at].parent
	}
	if at == none || t.domains[at].level < level {
		return none
	}
	return at
}

// domainOf gives a node's domain at a level, or none; that of no level is whole.
func (t *topology) domainOf(node int32, level int) int32 {
	if level == none {
		return min(t.home[node], whole)
	}
	return t.chain[int(node)*len(t.levels)+level]
}

// holds reports whether a node is in a domain.
func (t *topology) holds(at, node int32) bool {
	return t.domainOf(node, t.domains[at].level) == at
}

// contains reports whether inner is outer or lies below it.
func (t *topology) contains(outer, inner int32) bool {
	return t.ancestor(inner, t.domains[outer].level) == outer
}

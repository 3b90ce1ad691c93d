package counts

import (
	"slices"
	"strings"
)

// None marks the absence of a node, domain or level in index fields.
const None = -1

// Whole is the index of every topology's root domain: the whole cluster. Nodes
// without the broadest label stand directly in it.
const Whole = int32(0)

// Domain is one place in the tree of a topology.
type Domain struct {
	Parent int32
	// Level counts from the broadest, 0; the root has none.
	Level int
	Path  Path
	// Children are the domains one level down, by value; Nodes are the nodes that have this domain and no deeper one,
	// by name. The orders break ties, so that answers do not depend on the history of the cluster.
	Children, Nodes []int32
	// Size counts the nodes here and below.
	Size int
	// Rank numbers the domain within its level; see rankedDomains.
	Rank int32
}

// Topology is the tree of domains that the nodes' labels span along its levels.
type Topology struct {
	Name   string
	Levels []string
	// domains by index; those in free are unused.
	Domains []Domain
	free    []int32
	// Home is the deepest domain of each node, by node index; none when the node
	// is not in the cluster. chain has its domain at each level, node by node.
	Home  []int32
	chain []int32
	// Rankings are by level.
	Rankings []ranking
	// marked has the stamp of the marks by which a domain was marked last.
	marked []int
	stamp  int
	// sorting has room for domains that are sorted.
	sorting []int32
}

func newTopology(name string, levels []string) *Topology {
	return &Topology{
		Name:    name,
		Levels:  levels,
		Domains: []Domain{{Parent: None, Level: None}},
		// Versions begin at 1, so that 0 means "never".
		Rankings: slices.Repeat([]ranking{{version: 1}}, len(levels)),
	}
}

// Level gives the index of a node label key, or none.
func (t *Topology) Level(key string) int {
	return slices.Index(t.Levels, key)
}

// locate finds or makes the domain of a node with these labels: as far down as
// it has every label from the top. O(levels · log children).
func (t *Topology) locate(labels map[string]string) int32 {
	at := Whole
	for level, key := range t.Levels {
		value, ok := labels[key]
		if !ok {
			break
		}
		at = t.child(at, level, value)
	}
	return at
}

// stands reports whether locate would give the domain at, without making any.
func (t *Topology) stands(at int32, labels map[string]string) bool {
	path := t.Domains[at].Path
	for level, key := range t.Levels {
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

func (t *Topology) child(parent int32, level int, value string) int32 {
	children := t.Domains[parent].Children
	i, found := slices.BinarySearchFunc(children, value, func(d int32, value string) int {
		return strings.Compare(t.Domains[d].Path[level], value)
	})
	if found {
		return children[i]
	}
	path := append(slices.Clone(t.Domains[parent].Path), value)
	d := t.allocate(Domain{Parent: parent, Level: level, Path: path})
	t.Domains[parent].Children = slices.Insert(children, i, d)
	t.Rankings[level].version++
	t.Rankings[level].Count++
	return d
}

func (t *Topology) allocate(d Domain) int32 {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.Domains[i] = d
		return i
	}
	t.Domains = append(t.Domains, d)
	return int32(len(t.Domains) - 1)
}

// enter puts a node at a domain; names orders nodes.
func (t *Topology) enter(node, at int32, names func(int32) string) {
	d := &t.Domains[at]
	i := searchNode(d.Nodes, node, names)
	d.Nodes = slices.Insert(d.Nodes, i, node)
	t.Home[node] = at
	for ; at != None; at = t.Domains[at].Parent {
		t.Domains[at].Size++
		if at != Whole {
			t.chain[int(node)*len(t.Levels)+t.Domains[at].Level] = at
		}
	}
}

// addNode makes room for a node, which is nowhere yet.
func (t *Topology) addNode() {
	t.Home = append(t.Home, None)
	for range t.Levels {
		t.chain = append(t.chain, None)
	}
}

// leave takes a node out of its domain and drops domains that become empty.
func (t *Topology) leave(node int32, names func(int32) string) {
	at := t.Home[node]
	d := &t.Domains[at]
	i := searchNode(d.Nodes, node, names)
	d.Nodes = slices.Delete(d.Nodes, i, i+1)
	t.Home[node] = None
	for level := range t.Levels {
		t.chain[int(node)*len(t.Levels)+level] = None
	}
	for at != None {
		parent := t.Domains[at].Parent
		t.Domains[at].Size--
		if t.Domains[at].Size == 0 && at != Whole {
			t.drop(at)
		}
		at = parent
	}
}

func (t *Topology) drop(at int32) {
	siblings := &t.Domains[t.Domains[at].Parent].Children
	i := slices.Index(*siblings, at)
	*siblings = slices.Delete(*siblings, i, i+1)
	t.Rankings[t.Domains[at].Level].version++
	t.Rankings[t.Domains[at].Level].Count--
	t.Domains[at] = Domain{}
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

// Ancestor climbs from a domain to the given level; none when the domain is
// broader than that.
func (t *Topology) Ancestor(at int32, level int) int32 {
	for at != None && t.Domains[at].Level > level {
		at = t.Domains[at].Parent
	}
	if at == None || t.Domains[at].Level < level {
		return None
	}
	return at
}

// DomainOf gives a node's domain at a level, or none; that of no level is whole.
func (t *Topology) DomainOf(node int32, level int) int32 {
	if level == None {
		return min(t.Home[node], Whole)
	}
	return t.chain[int(node)*len(t.Levels)+level]
}

// Holds reports whether a node is in a domain.
func (t *Topology) Holds(at, node int32) bool {
	return t.DomainOf(node, t.Domains[at].Level) == at
}

// Contains reports whether inner is outer or lies below it.
func (t *Topology) Contains(outer, inner int32) bool {
	return t.Ancestor(inner, t.Domains[outer].Level) == outer
}

// NodesOf calls visit for each node of a domain, by path and name, until visit
// returns false.
func (t *Topology) NodesOf(at int32, visit func(node int32) bool) bool {
	d := &t.Domains[at]
	for _, node := range d.Nodes {
		if !visit(node) {
			return false
		}
	}
	for _, child := range d.Children {
		if !t.NodesOf(child, visit) {
			return false
		}
	}
	return true
}

// DomainsAt calls visit for each domain of a level inside a domain, by path,
// until visit returns false.
func (t *Topology) DomainsAt(at int32, level int, visit func(at int32) bool) bool {
	if t.Domains[at].Level >= level {
		return t.Domains[at].Level > level || visit(at)
	}
	for _, child := range t.Domains[at].Children {
		if !t.DomainsAt(child, level, visit) {
			return false
		}
	}
	return true
}

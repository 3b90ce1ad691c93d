package packing

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/shared/packing/certificate"
)

// InputOf puts a gang and nodes into the words of package certificate. Levels
// has the levels of each topology by name. Nodes come back by name, and shapes
// that no node tells apart as one kind. O(nodes · shapes + pods).
func InputOf(gang *Gang, levels map[string][]string, nodes []certificate.Node) *certificate.Input {
	w := &inputWriter{in: &certificate.Input{}, names: map[string]bool{}, shapes: map[string]int{}, kinds: map[string]int{}, filters: map[string]*barred{}}
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		w.in.Topologies = append(w.in.Topologies, certificate.Topology{Name: name, Levels: levels[name]})
	}
	w.in.Nodes = slices.Clone(nodes)
	slices.SortFunc(w.in.Nodes, func(a, b certificate.Node) int { return strings.Compare(a.Name, b.Name) })
	w.group(&gang.Root, -1)
	return w.in
}

// inputWriter makes an Input.
type inputWriter struct {
	in    *certificate.Input
	names map[string]bool
	// shapes are kinds by the key of a shape, kinds by what they ask for.
	shapes, kinds map[string]int
	// filters are nodes that filters bar, by the identity of the filter.
	filters map[string]*barred
}

// barred are nodes; text is equal for equal ones.
type barred struct {
	nodes []bool
	text  []byte
}

func (w *inputWriter) group(g *Group, parent int) {
	at := len(w.in.Groups)
	to := certificate.Group{
		Name: w.unique(g.Name, at), Parent: parent, Topology: g.Constraint.Topology, Required: g.Constraint.Required,
		MinSubGroups: len(g.Children), MinMember: g.MinMember, Running: g.Running,
	}
	if g.MinSubGroups != nil {
		to.MinSubGroups = *g.MinSubGroups
	}
	for _, anchor := range g.Follow {
		to.Follow = append(to.Follow, certificate.Anchor{Topology: anchor.Topology, Level: anchor.Level, Nodes: anchor.Nodes})
	}
	for k := range g.Pending {
		to.Pending = append(to.Pending, certificate.Pods{Kind: w.kind(&g.Pending[k].Shape), Names: g.Pending[k].Names})
	}
	w.in.Groups = append(w.in.Groups, to)
	for k := range g.Children {
		w.group(&g.Children[k], at)
	}
}

// unique is a name that no other group has: gangs decided together have roots of
// one name.
func (w *inputWriter) unique(name string, at int) string {
	if w.names[name] {
		name = fmt.Sprintf("%s#%d", name, at)
	}
	w.names[name] = true
	return name
}

func (w *inputWriter) kind(shape *Shape) int {
	if at, known := w.shapes[shape.Key]; known {
		return at
	}
	key := binary.AppendUvarint(nil, uint64(len(shape.Requests)))
	for _, name := range slices.Sorted(maps.Keys(shape.Requests)) {
		key = fmt.Appendf(key, "%q", name)
		key = binary.AppendVarint(key, shape.Requests[name])
	}
	barred := w.barred(shape)
	key = append(key, barred.text...)
	at, known := w.kinds[string(key)]
	if !known {
		at = len(w.in.Kinds)
		w.kinds[string(key)] = at
		w.in.Kinds = append(w.in.Kinds, certificate.Kind{Requests: shape.Requests, Barred: barred.nodes})
	}
	w.shapes[shape.Key] = at
	return at
}

// barred are the nodes that a shape's filter bars.
func (w *inputWriter) barred(shape *Shape) *barred {
	name := shape.filterName()
	if b := w.filters[name]; b != nil {
		return b
	}
	b := &barred{nodes: make([]bool, len(w.in.Nodes))}
	for i := range w.in.Nodes {
		node := w.in.Nodes[i].Name
		b.nodes[i] = shape.Only != nil && !slices.Contains(shape.Only, node) || shape.Excluded != nil && shape.Excluded(node) != ""
		if b.nodes[i] {
			b.text = binary.AppendUvarint(b.text, uint64(i))
		}
	}
	if len(b.text) == 0 {
		b.nodes = nil
	}
	w.filters[name] = b
	return b
}

// input is the question that Decide was asked, on the cluster as it is.
func (c *Cluster) input(gang *Gang) *certificate.Input {
	levels := map[string][]string{}
	for name, slot := range c.topologyIndex {
		levels[name] = c.topologies[slot].levels
	}
	var nodes []certificate.Node
	for i := range c.nodes {
		if !c.nodes[i].present {
			continue
		}
		n := certificate.Node{Name: c.nodes[i].name, Free: map[string]int64{}, Domains: map[string][]string{}}
		for column, free := range c.resources.row(int32(i))[:len(c.resources.names)] {
			n.Free[c.resources.names[column]] = free
		}
		for name := range levels {
			n.Domains[name] = c.PathOf(name, n.Name)
		}
		nodes = append(nodes, n)
	}
	return InputOf(gang, levels, nodes)
}

package refute

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// InputOf puts a gang and nodes into the words of package certificate. Levels
// has the levels of each topology by name. Nodes come back by name, and shapes
// that no node tells apart as one kind. O(nodes · shapes + pods).
func InputOf(gang *problem.Gang, levels map[string][]string, nodes []certificate.Node) *certificate.Input {
	k := &kindWriter{in: &certificate.Input{}, shapes: map[string]int{}, kinds: map[string]int{},
		filters: map[string]*barred{}}
	k.in.Nodes = slices.Clone(nodes)
	slices.SortFunc(k.in.Nodes, func(a, b certificate.Node) int { return strings.Compare(a.Name, b.Name) })
	writeGroups(k.in, gang, levels, k.kind)
	return k.in
}

// writeGroups fills in topologies, required relations and groups; kind gives the kind of each
// shape.
func writeGroups(in *certificate.Input, gang *problem.Gang, levels map[string][]string, kind func(*counts.Shape) int) {
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		in.Topologies = append(in.Topologies, certificate.Topology{Name: name, Levels: levels[name]})
	}
	w := &GroupWriter{in: in, Names: map[string]bool{}, preferred: map[string]bool{}, kind: kind}
	for i := range gang.Relations {
		r := &gang.Relations[i]
		if r.Preferred {
			w.preferred[r.Name] = true
			continue
		}
		in.Relations = append(in.Relations, certificate.Relation{
			Name: r.Name, Topology: r.Topology, Level: r.Level, Max: r.Max, Near: r.Near, PerPod: r.PerPod,
			Others: r.Others, Joined: r.Joined,
		})
	}
	w.group(&gang.Root, -1)
}

// GroupWriter writes the groups of an Input.
type GroupWriter struct {
	in    *certificate.Input
	Names map[string]bool
	// preferred are the names of relations that say nothing about what is right.
	preferred map[string]bool
	kind      func(*counts.Shape) int
}

// kindWriter writes the kinds of an Input.
type kindWriter struct {
	in *certificate.Input
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

func (w *GroupWriter) group(g *problem.Group, parent int) {
	at := len(w.in.Groups)
	to := certificate.Group{
		Name: w.Unique(g.Name, at), Parent: parent, Topology: g.Constraint.Topology, Required: g.Constraint.Required,
		MinSubGroups: len(g.Children), MinMember: g.MinMember, Running: g.Running,
		Relations: slices.DeleteFunc(slices.Clone(g.Relations), func(name string) bool { return w.preferred[name] }),
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

// Unique is a name that no other group has: gangs decided together have roots of
// one name.
func (w *GroupWriter) Unique(name string, at int) string {
	if w.Names[name] {
		name = fmt.Sprintf("%s#%d", name, at)
	}
	w.Names[name] = true
	return name
}

func (w *kindWriter) kind(shape *counts.Shape) int {
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
func (w *kindWriter) barred(shape *counts.Shape) *barred {
	name := shape.FilterName()
	if b := w.filters[name]; b != nil {
		return b
	}
	b := &barred{nodes: make([]bool, len(w.in.Nodes))}
	only := map[string]bool{}
	for _, node := range shape.Only {
		only[node] = true
	}
	for i := range w.in.Nodes {
		node := w.in.Nodes[i].Name
		b.nodes[i] = shape.Only != nil && !only[node] || shape.Excluded != nil && shape.Excluded(node) != ""
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

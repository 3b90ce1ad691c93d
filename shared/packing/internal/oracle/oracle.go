package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"packtree.dev/shared/packing"
)

// Quality is what the goals say about a placement: pods first, then units of preferred
// levels by depth, then what preferred relations lack, in their order.
type Quality struct {
	Feasible bool
	Pods     int
	Units    []int
	Deficits []int
}

// Better compares qualities.
func (q Quality) Better(than Quality) bool {
	if q.Feasible != than.Feasible {
		return q.Feasible
	}
	if q.Pods != than.Pods {
		return q.Pods > than.Pods
	}
	return cmp.Or(slices.Compare(q.Units, than.Units), slices.Compare(q.Deficits, than.Deficits)) < 0
}

// oracle tries every way to give each pending pod a node or none.
type oracle struct {
	scene  *Scene
	index  map[string]int
	groups []*group
	kinds  []kind
	free   []map[string]int64
	paths  map[string][]string
	best   Quality
}

type group struct {
	g      *packing.Group
	parent int
	depth  int
	// stands has the nodes of running and placed pods, placed how many are new.
	stands []int
	placed int
}

// kind is a number of equal pods of one leaf.
type kind struct {
	leaf  int
	shape packing.Shape
	count int
}

// Judge gives the best quality of all placements.
func Judge(s *Scene) Quality {
	o := newOracle(s)
	o.try(0, 0, 0)
	return o.best
}

func newOracle(s *Scene) *oracle {
	o := &oracle{scene: s, index: map[string]int{}, paths: map[string][]string{}}
	for i, n := range s.Nodes {
		o.index[n.Name] = i
		free := map[string]int64{}
		for r, a := range n.Allocatable {
			free[r] = a
		}
		o.free = append(o.free, free)
	}
	o.add(&s.Gang.Root, -1, 0)
	return o
}

func (o *oracle) add(g *packing.Group, parent, depth int) {
	i := len(o.groups)
	o.groups = append(o.groups, &group{g: g, parent: parent, depth: depth})
	for _, name := range g.Running {
		if n := o.node(name); n >= 0 {
			o.stand(i, n, 0)
		}
	}
	for _, pods := range g.Pending {
		o.kinds = append(o.kinds, kind{leaf: i, shape: pods.Shape, count: len(pods.Names)})
	}
	for k := range g.Children {
		o.add(&g.Children[k], i, depth+1)
	}
}

func (o *oracle) node(name string) int {
	if i, known := o.index[name]; known {
		return i
	}
	return -1
}

func (o *oracle) stand(leaf, node, placed int) {
	for i := leaf; i >= 0; i = o.groups[i].parent {
		o.groups[i].stands = append(o.groups[i].stands, node)
		o.groups[i].placed += placed
	}
}

func (o *oracle) unstand(leaf int) {
	for i := leaf; i >= 0; i = o.groups[i].parent {
		o.groups[i].stands = o.groups[i].stands[:len(o.groups[i].stands)-1]
		o.groups[i].placed--
	}
}

// try gives pods of a kind, from the node on, to nodes; taken of them have one.
func (o *oracle) try(kind, node, taken int) {
	if kind == len(o.kinds) {
		if q := o.score(); q.Better(o.best) {
			o.best = q
		}
		return
	}
	if node == len(o.free) || taken == o.kinds[kind].count {
		o.try(kind+1, 0, 0)
		return
	}
	o.try(kind, node+1, taken)
	k := o.kinds[kind]
	if !o.takes(node, k.shape) {
		return
	}
	o.use(node, k.shape, 1)
	o.stand(k.leaf, node, 1)
	o.try(kind, node, taken+1)
	o.unstand(k.leaf)
	o.use(node, k.shape, -1)
}

func (o *oracle) use(node int, shape packing.Shape, pods int64) {
	for r, a := range shape.Requests {
		o.free[node][r] -= a * pods
	}
}

func (o *oracle) takes(node int, shape packing.Shape) bool {
	if o.scene.Excluded[shape.Key][o.scene.Nodes[node].Name] {
		return false
	}
	for r, a := range shape.Requests {
		if o.free[node][r] < a {
			return false
		}
	}
	return true
}

func (o *oracle) score() Quality {
	if !o.satisfied(0) || o.groups[0].placed < o.best.Pods {
		return Quality{}
	}
	for i, g := range o.groups {
		if g.placed > 0 && (!o.satisfied(i) || !o.allowed(g)) {
			return Quality{}
		}
	}
	obeyed, deficits := o.related()
	if !obeyed {
		return Quality{}
	}
	units := make([]int, 6*4)
	for _, g := range o.groups {
		o.countUnits(g, units)
	}
	return Quality{Feasible: true, Pods: o.groups[0].placed, Units: units, Deficits: deficits}
}

func (o *oracle) satisfied(i int) bool {
	g := o.groups[i]
	if len(g.g.Children) == 0 {
		return len(g.g.Running)+g.placed >= g.g.MinMember
	}
	satisfied, need := 0, len(g.g.Children)
	if g.g.MinSubGroups != nil {
		need = *g.g.MinSubGroups
	}
	for k, child := range o.groups {
		if child.parent == i && o.satisfied(k) {
			satisfied++
		}
	}
	return satisfied >= need
}

func (o *oracle) allowed(g *group) bool {
	if level := g.g.Constraint.Required; level != "" && !o.together(g.g.Constraint.Topology, level, g.stands) {
		return false
	}
	for _, anchor := range g.g.Follow {
		stands := slices.Clone(g.stands[len(g.stands)-g.placed:])
		known := false
		for _, name := range anchor.Nodes {
			if n := o.node(name); n >= 0 {
				stands = append(stands, n)
				known = true
			}
		}
		// An anchor ties new pods only, not running ones.
		if known && !o.together(anchor.Topology, anchor.Level, stands) {
			return false
		}
	}
	return true
}

// path is the domain of a node at a level, as its labels joined, or "".
func (o *oracle) path(topology, level string, node int) string {
	key := topology + "\x00" + level
	if _, known := o.paths[key]; !known {
		for n := range o.scene.Nodes {
			o.paths[key] = append(o.paths[key], o.join(topology, level, n))
		}
	}
	return o.paths[key][node]
}

func (o *oracle) join(topology, level string, node int) string {
	var b strings.Builder
	for _, key := range o.scene.Topologies[topology] {
		value, ok := o.scene.Nodes[node].Labels[key]
		if !ok {
			return ""
		}
		b.WriteString("\x00" + value)
		if key == level {
			return b.String()
		}
	}
	return ""
}

func (o *oracle) together(topology, level string, nodes []int) bool {
	for _, n := range nodes {
		if p := o.path(topology, level, n); p == "" || p != o.path(topology, level, nodes[0]) {
			return false
		}
	}
	return true
}

func (o *oracle) countUnits(g *group, units []int) {
	levels := o.scene.Topologies[g.g.Constraint.Topology]
	preferred := slices.Index(levels, g.g.Constraint.Preferred)
	required := slices.Index(levels, g.g.Constraint.Required)
	nodes := g.stands
	for _, name := range g.g.Beside {
		if n := o.node(name); n >= 0 {
			nodes = append(nodes[:len(nodes):len(nodes)], n)
		}
	}
	for level := preferred; level > required; level-- {
		seen := map[string]bool{}
		for _, n := range nodes {
			p := o.path(g.g.Constraint.Topology, levels[level], n)
			if p == "" {
				p = o.scene.Nodes[n].Name
			}
			seen[p] = true
		}
		units[g.depth*4+preferred-level] += len(seen)
	}
}

// Score judges the assignments of a decision by the same rules.
func Score(s *Scene, d *packing.Decision) (Quality, error) {
	o := newOracle(s)
	byName := map[string]kind{}
	for _, k := range o.kinds {
		for _, pods := range o.groups[k.leaf].g.Pending {
			if pods.Shape.Key == k.shape.Key {
				for _, name := range pods.Names {
					byName[name] = k
				}
			}
		}
	}
	for _, a := range d.Assignments {
		k, known := byName[a.Pod]
		delete(byName, a.Pod)
		n := o.node(a.Node)
		if !known || n < 0 || !o.takes(n, k.shape) {
			return Quality{}, fmt.Errorf("pod %s cannot be on node %s", a.Pod, a.Node)
		}
		o.use(n, k.shape, 1)
		o.stand(k.leaf, n, 1)
	}
	return o.score(), nil
}

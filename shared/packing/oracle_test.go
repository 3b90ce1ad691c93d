package packing_test

import (
	"slices"
	"strings"

	"packtree.dev/shared/packing"
)

// scene is a small cluster and gang, kept as plain data, so that the oracle can
// judge it without any code of the package.
type scene struct {
	topologies map[string][]string
	nodes      []packing.Node
	excluded   map[string]map[string]bool // by shape key, node
	gang       packing.Gang
}

func (s *scene) build() *packing.Cluster {
	c := packing.NewCluster()
	for name, levels := range s.topologies {
		if err := c.SetTopology(name, levels); err != nil {
			panic(err)
		}
	}
	for _, n := range s.nodes {
		c.SetNode(n)
	}
	return c
}

// quality is what the goals say about a placement: pods first, then units of
// preferred levels by depth.
type quality struct {
	feasible bool
	pods     int
	units    []int
}

func (q quality) better(than quality) bool {
	if q.feasible != than.feasible {
		return q.feasible
	}
	if q.pods != than.pods {
		return q.pods > than.pods
	}
	return slices.Compare(q.units, than.units) < 0
}

// oracle tries every way to give each pending pod a node or none.
type oracle struct {
	scene  *scene
	groups []*oracleGroup
	kinds  []podKind
	free   []map[string]int64
	best   quality
}

type oracleGroup struct {
	g      *packing.Group
	parent int
	depth  int
	// stands has the nodes of running and placed pods, placed how many are new.
	stands []int
	placed int
}

// podKind is a number of equal pods of one leaf.
type podKind struct {
	leaf  int
	shape packing.Shape
	count int
}

func judge(s *scene) quality {
	o := &oracle{scene: s}
	o.add(&s.gang.Root, -1, 0)
	for _, n := range s.nodes {
		free := map[string]int64{}
		for r, a := range n.Allocatable {
			free[r] = a
		}
		o.free = append(o.free, free)
	}
	o.try(0, 0, 0)
	return o.best
}

func (o *oracle) add(g *packing.Group, parent, depth int) {
	i := len(o.groups)
	o.groups = append(o.groups, &oracleGroup{g: g, parent: parent, depth: depth})
	for _, name := range g.Running {
		if n := o.node(name); n >= 0 {
			o.stand(i, n, 0)
		}
	}
	for _, pods := range g.Pending {
		o.kinds = append(o.kinds, podKind{leaf: i, shape: pods.Shape, count: len(pods.Names)})
	}
	for k := range g.Children {
		o.add(&g.Children[k], i, depth+1)
	}
}

func (o *oracle) node(name string) int {
	return slices.IndexFunc(o.scene.nodes, func(n packing.Node) bool { return n.Name == name })
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
		if q := o.score(); q.better(o.best) {
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
	for r, a := range k.shape.Requests {
		o.free[node][r] -= a
	}
	o.stand(k.leaf, node, 1)
	o.try(kind, node, taken+1)
	o.unstand(k.leaf)
	for r, a := range k.shape.Requests {
		o.free[node][r] += a
	}
}

func (o *oracle) takes(node int, shape packing.Shape) bool {
	if o.scene.excluded[shape.Key][o.scene.nodes[node].Name] {
		return false
	}
	for r, a := range shape.Requests {
		if o.free[node][r] < a {
			return false
		}
	}
	return true
}

func (o *oracle) score() quality {
	if !o.satisfied(0) {
		return quality{}
	}
	units := make([]int, 6*4)
	for i, g := range o.groups {
		if g.placed > 0 && (!o.satisfied(i) || !o.allowed(g)) {
			return quality{}
		}
		o.countUnits(g, units)
	}
	return quality{feasible: true, pods: o.groups[0].placed, units: units}
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

func (o *oracle) allowed(g *oracleGroup) bool {
	if level := g.g.Constraint.Required; level != "" && !o.together(g.g.Constraint.Topology, level, g.stands) {
		return false
	}
	for _, anchor := range g.g.Follow {
		stands := slices.Clone(g.stands)
		known := false
		for _, name := range anchor.Nodes {
			if n := o.node(name); n >= 0 {
				stands = append(stands, n)
				known = true
			}
		}
		if known && !o.together(anchor.Topology, anchor.Level, o.placedWith(g, stands)) {
			return false
		}
	}
	return true
}

// placedWith are the nodes that an anchor speaks about: it ties the new pods,
// whose nodes are the last of stands, and not those that run already.
func (o *oracle) placedWith(g *oracleGroup, stands []int) []int {
	return stands[len(g.stands)-g.placed:]
}

// path is the domain of a node at a level, as its labels joined, or "".
func (o *oracle) path(topology, level string, node int) string {
	var b strings.Builder
	for _, key := range o.scene.topologies[topology] {
		value, ok := o.scene.nodes[node].Labels[key]
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

// besides are the nodes of other gangs that the preferred level speaks of too.
func (o *oracle) besides(g *oracleGroup) []int {
	var nodes []int
	for _, name := range g.g.Beside {
		if n := o.node(name); n >= 0 {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func (o *oracle) countUnits(g *oracleGroup, units []int) {
	levels := o.scene.topologies[g.g.Constraint.Topology]
	preferred := slices.Index(levels, g.g.Constraint.Preferred)
	required := slices.Index(levels, g.g.Constraint.Required)
	for level := preferred; level > required; level-- {
		seen := map[string]bool{}
		for _, n := range append(o.besides(g), g.stands...) {
			p := o.path(g.g.Constraint.Topology, levels[level], n)
			if p == "" {
				p = o.scene.nodes[n].Name
			}
			seen[p] = true
		}
		units[g.depth*4+preferred-level] += len(seen)
	}
}

package solve

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// ShapeOf says what a pod asks of a node.
type ShapeOf func(pod *corev1.Pod) (packing.Shape, error)

// Translate returns a gang as the engine sees it: with others that share its constraint, if there are some, which are
// placed all at once, in one domain of what they share.
func Translate(g *gang.Gang, with []*gang.Gang, shapeOf ShapeOf) (*packing.Gang, error) {
	return (*shared)(nil).translate(g, with, func(pod *corev1.Pod) (packing.Shape, bool, error) {
		shape, err := shapeOf(pod)
		return shape, true, err
	})
}

// asksFor says what a pod asks of a node, and false if another pod asks for it.
type asksFor func(pod *corev1.Pod) (shape packing.Shape, asks bool, err error)

// translate is Translate for gangs in which pods may ask for others.
func (s *shared) translate(g *gang.Gang, with []*gang.Gang, shapeOf asksFor) (*packing.Gang, error) {
	first, err := s.translateOne(g, shapeOf)
	if err != nil || len(with) == 0 {
		return first, err
	}
	shared, gangs := g.Shared.Constraint, []*packing.Gang{first}
	for _, other := range with {
		next, err := s.translateOne(other, shapeOf)
		if err != nil {
			return nil, err
		}
		gangs = append(gangs, next)
	}
	all := packing.Group{
		Constraint: packing.Constraint{
			Topology: shared.Topology, Required: shared.RequiredTopologyLevel, Preferred: shared.PreferredTopologyLevel,
		},
	}
	related := merge(gangs, append([]*gang.Gang{g}, with...), &all)
	for _, next := range gangs {
		all.Children = append(all.Children, next.Root)
	}
	return &packing.Gang{Root: all, Relations: related}, nil
}

// translateOne returns the tree of the gang with its pods: the pending ones by shape, in the order of the gang, and the
// nodes of the standing ones. Pods go by their names.
func (s *shared) translateOne(g *gang.Gang, shapeOf asksFor) (*packing.Gang, error) {
	leaves := map[string]*leaf{}
	for _, pod := range g.Pending {
		shape, asks, err := shapeOf(pod)
		if err != nil {
			return nil, err
		}
		leaf := leafOf(leaves, g, pod)
		if leaf.fewer = leaf.fewer || !asks; asks {
			leaf.addPending(shape, pod.Name)
		}
	}
	for _, pod := range g.Standing {
		leaf := leafOf(leaves, g, pod)
		leaf.running = append(leaf.running, pod.Spec.NodeName)
	}
	root := s.group(g.Tree.Root, leaves)
	related := relate(&root, g)
	return &packing.Gang{Root: besideRelated(root, g), Relations: related}, nil
}

// leaf collects the pods of one leaf.
type leaf struct {
	// likely is how many alike pods there probably are: as many as the leaf needs.
	likely  int
	pending []packing.Pods
	running []string
	// fewer is set if pods of the leaf ask for others, so that fewer suffice.
	fewer bool
}

// asking is how many pods ask for themselves or others.
func (l *leaf) asking() (pods int) {
	for i := range l.pending {
		pods += len(l.pending[i].Names)
	}
	return pods
}

func leafOf(leaves map[string]*leaf, g *gang.Gang, pod *corev1.Pod) *leaf {
	name := gang.LeafOf(pod)
	known := leaves[name]
	if known == nil {
		known = &leaf{}
		if group := g.Tree.Leaf(name); group != nil {
			known.likely = min(int(group.MinMember), len(g.Pending))
		}
		leaves[name] = known
	}
	return known
}

func (l *leaf) addPending(shape packing.Shape, name string) {
	for i := range l.pending {
		if l.pending[i].Shape.Key == shape.Key {
			l.pending[i].Names = append(l.pending[i].Names, name)
			return
		}
	}
	names := make([]string, 0, max(1, l.likely))
	l.likely = 1
	l.pending = append(l.pending, packing.Pods{Shape: shape, Names: append(names, name)})
}

func (s *shared) group(from *podgrouptree.Group, leaves map[string]*leaf) packing.Group {
	constraint := from.OnNodes()
	if s.bundled(from) {
		constraint.RequiredTopologyLevel = "" // One pod is in one domain.
	}
	to := packing.Group{
		Name: from.Name,
		Constraint: packing.Constraint{
			Topology:  constraint.Topology,
			Required:  constraint.RequiredTopologyLevel,
			Preferred: constraint.PreferredTopologyLevel,
		},
	}
	if from.Leaf() {
		to.MinMember = int(from.MinMember)
		if pods := leaves[from.Name]; pods != nil {
			to.Pending, to.Running = pods.pending, pods.running
			if pods.fewer {
				to.MinMember = min(to.MinMember, pods.asking())
			}
		}
		return to
	}
	needed := int(from.MinSubGroup)
	to.MinSubGroups = &needed
	to.Children = make([]packing.Group, 0, len(from.Children))
	for _, child := range from.Children {
		to.Children = append(to.Children, s.group(child, leaves))
	}
	return to
}

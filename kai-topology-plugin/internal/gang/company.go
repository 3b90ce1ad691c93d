package gang

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// Company is the topology constraint that a gang shares with others, its companions, and where those stand.
type Company struct {
	// Base is the gang that the others were added to. It is the gang itself if that has the name.
	Base Key
	// Constraint holds for the pods of all companions together.
	Constraint scheduling.TopologyConstraint
	// Others are the companions, without the gang itself, that stand or are planned somewhere.
	Others []Companion
}

// Companion is another gang of a company.
type Companion struct {
	Gang Key
	// Nodes are where its pods stand, or are about to.
	Nodes []string
}

// BaseOf returns the name that all companions of a gang have in common, and false if it has no company.
func BaseOf(podGroup *scheduling.PodGroup) (Key, bool) {
	base := podGroup.Annotations[scheduling.AnnotationBaseGang]
	return Key{Namespace: podGroup.Namespace, Name: base}, base != ""
}

// companyOf returns the company of a gang, nil if it has none or shares nothing.
func companyOf(podGroup *scheduling.PodGroup) *Company {
	base, ok := BaseOf(podGroup)
	constraint := scheduling.TopologyConstraint{
		Topology:               podGroup.Annotations[scheduling.AnnotationSharedTopology],
		RequiredTopologyLevel:  podGroup.Annotations[scheduling.AnnotationSharedRequired],
		PreferredTopologyLevel: podGroup.Annotations[scheduling.AnnotationSharedPreferred],
	}
	if !ok || constraint.RequiredTopologyLevel == "" && constraint.PreferredTopologyLevel == "" {
		return nil
	}
	return &Company{Base: base, Constraint: constraint}
}

// blockers returns what keeps the shared constraint from being followed, at the annotations where it is written.
func (c *Company) blockers(levels podgrouptree.Levels) field.ErrorList {
	if c == nil {
		return nil
	}
	written := map[string]string{
		"topology":               scheduling.AnnotationSharedTopology,
		"requiredTopologyLevel":  scheduling.AnnotationSharedRequired,
		"preferredTopologyLevel": scheduling.AnnotationSharedPreferred,
	}
	errs := podgrouptree.CheckConstraint(c.Constraint, nil, levels)
	for _, err := range errs {
		err.Field = field.NewPath("metadata", "annotations").Key(written[err.Field]).String()
	}
	return errs
}

// Meet has the company know where another gang stands or is about to. One that is nowhere is nobody to go to.
func (c *Company) Meet(other Key, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	c.Others = append(c.Others, Companion{Gang: other, Nodes: nodes})
	slices.SortFunc(c.Others, func(a, b Companion) int {
		return cmp.Or(-compareBools(a.Gang == c.Base, b.Gang == c.Base), cmp.Compare(a.Gang.Name, b.Gang.Name))
	})
}

// NodesOf returns the nodes of those pods that stand, sorted and each once.
func NodesOf(pods []*corev1.Pod) []string {
	var nodes []string
	for _, pod := range pods {
		if Standing(pod) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// TopologiesOf returns the names of the Topologies that a PodGroup refers to, valid or not, those that it shares with
// others included, sorted and each once.
func TopologiesOf(podGroup *scheduling.PodGroup) []string {
	names := []string{podGroup.Annotations[scheduling.AnnotationSharedTopology]}
	if constraint := podGroup.Spec.TopologyConstraint; constraint != nil {
		names = append(names, constraint.Topology)
	}
	for i := range podGroup.Spec.SubGroups {
		if constraint := podGroup.Spec.SubGroups[i].TopologyConstraint; constraint != nil {
			names = append(names, constraint.Topology)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Topologies returns the names of the Topologies whose levels the gang speaks of, its company's included, each once.
func (g *Gang) Topologies() []string {
	var names []string
	for _, group := range g.Tree.Groups() {
		names = append(names, group.Constraint.Topology)
	}
	if g.Company != nil {
		names = append(names, g.Company.Constraint.Topology)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

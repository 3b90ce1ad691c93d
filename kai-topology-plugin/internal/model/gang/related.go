package gang

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/relations"
)

// Shared is the topology constraint that a gang shares with related gangs, and where those stand.
type Shared struct {
	// Base is the gang that the others were added to. It is the gang itself if that has the name.
	Base Key
	// Constraint holds for the pods of all related gangs together.
	Constraint scheduling.TopologyConstraint
	// Others are the related gangs, without the gang itself, that stand or are planned somewhere.
	Others []RelatedGang
}

// RelatedGang is another gang with the same base.
type RelatedGang struct {
	Gang Key
	// Nodes are where its pods stand, or are about to.
	Nodes []string
}

// BaseOf returns the name that all related gangs of a gang have in common, and false if it shares nothing.
func BaseOf(podGroup *scheduling.PodGroup) (Key, bool) {
	base := podGroup.Annotations[scheduling.AnnotationBaseGang]
	return Key{Namespace: podGroup.Namespace, Name: base}, base != ""
}

// BaseKey is that of IndexKeys that related gangs have in common; false if a gang shares nothing.
func BaseKey(podGroup *scheduling.PodGroup) (Key, bool) {
	base, ok := BaseOf(podGroup)
	return Key{Namespace: base.Namespace, Name: "base/" + base.Name}, ok
}

// sharedOf returns what a gang shares, nil if it has none or shares nothing.
func sharedOf(podGroup *scheduling.PodGroup) *Shared {
	base, ok := BaseOf(podGroup)
	constraint := scheduling.TopologyConstraint{
		Topology:               podGroup.Annotations[scheduling.AnnotationSharedTopology],
		RequiredTopologyLevel:  podGroup.Annotations[scheduling.AnnotationSharedRequired],
		PreferredTopologyLevel: podGroup.Annotations[scheduling.AnnotationSharedPreferred],
	}
	if !ok || constraint.RequiredTopologyLevel == "" && constraint.PreferredTopologyLevel == "" {
		return nil
	}
	return &Shared{Base: base, Constraint: constraint}
}

// resolve names the levels by their keys, as far as it is known which are meant, and as far as node labels can say
// whether the constraint holds: gangs that share a NUMA zone share a host.
func (s *Shared) resolve(levels podgrouptree.Levels) *Shared {
	if s != nil {
		s.Constraint = levels.OnNodes(s.Constraint)
	}
	return s
}

// blockers returns what keeps the shared constraint from being followed, at the annotations where it is written.
func (s *Shared) blockers(levels podgrouptree.Levels) field.ErrorList {
	if s == nil {
		return nil
	}
	written := map[string]string{
		"topology":               scheduling.AnnotationSharedTopology,
		"requiredTopologyLevel":  scheduling.AnnotationSharedRequired,
		"preferredTopologyLevel": scheduling.AnnotationSharedPreferred,
	}
	errs := podgrouptree.CheckConstraint(s.Constraint, nil, levels)
	for _, err := range errs {
		err.Field = field.NewPath("metadata", "annotations").Key(written[err.Field]).String()
	}
	return errs
}

// Add records the nodes on which another gang runs or is about to. A gang without nodes is not recorded.
func (s *Shared) Add(other Key, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	s.Others = append(s.Others, RelatedGang{Gang: other, Nodes: nodes})
	slices.SortFunc(s.Others, func(a, b RelatedGang) int {
		return cmp.Or(-CompareBools(a.Gang == s.Base, b.Gang == s.Base), cmp.Compare(a.Gang.Name, b.Gang.Name))
	})
}

// StandingOf returns those pods that stand.
func StandingOf(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !Standing(pod) })
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

// TopologiesOf returns the names of the Topologies that a PodGroup refers to, valid or not, including shared
// constraints, sorted and each once.
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
	if parsed, errs := relations.Parse(podGroup.Annotations); len(errs) == 0 {
		for i := range parsed {
			names = append(names, parsed[i].Topology)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Topologies returns the names of the Topologies with levels that the gang refers to, including shared constraints,
// each once.
func (g *Gang) Topologies() []string {
	names := make([]string, 0, len(g.Tree.Groups())+1+len(g.Relations))
	for _, group := range g.Tree.Groups() {
		names = append(names, group.Constraint.Topology)
	}
	if g.Shared != nil {
		names = append(names, g.Shared.Constraint.Topology)
	}
	for i := range g.Relations {
		names = append(names, g.Relations[i].Topology)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

package nativegroups

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// TopologiesWith returns the names of the Topologies that have a level of a node label.
type TopologiesWith func(key string) []string

// With returns the names of those Topologies that have a level of a node label.
func With(topologies []*kai.Topology, key string) (names []string) {
	for _, topology := range topologies {
		if slices.ContainsFunc(topology.Spec.Levels, func(l kai.TopologyLevel) bool { return l.NodeLabel == key }) {
			names = append(names, topology.Name)
		}
	}
	return names
}

// Gang returns the PodGroup that stands for a group without a parent and all that is below it; nil if there is no such
// group. Its kind and version are those of the group. Its generation changes with that of any group of the tree.
func (f *Forest) Gang(root Ref, topologies TopologiesWith) *scheduling.PodGroup {
	f.mu.RLock()
	defer f.mu.RUnlock()
	group := f.groups[root]
	if group == nil || group.Spec.Parent != "" {
		return nil
	}
	gang := &scheduling.PodGroup{
		TypeMeta: group.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: root.Namespace, Name: root.GangName(), UID: group.UID, ResourceVersion: group.ResourceVersion,
			Generation: group.Generation, CreationTimestamp: group.CreationTimestamp,
			Labels: group.Labels, Annotations: group.Annotations,
		},
		Spec: scheduling.PodGroupSpec{
			PriorityClassName:  group.Spec.PriorityClassName,
			SchedulingBackoff:  new(scheduling.NoSchedulingBackoff),
			TopologyConstraint: group.constraint(topologies),
		},
	}
	f.addBelow(root, nil, gang, topologies)
	gang.Status.Conditions = scheduled(group, gang.Generation)
	if len(gang.Spec.SubGroups) == 0 {
		gang.Spec.MinMember = group.minimum()
	} else {
		gang.Spec.MinSubGroup = group.minimum()
	}
	return gang
}

// addBelow adds what is below a group to the gang. A CompositePodGroup without groups is as one that waits for pods.
func (f *Forest) addBelow(above Ref, parent *string, gang *scheduling.PodGroup, topologies TopologiesWith) {
	for _, ref := range sorted(maps.Keys(f.below[above])) {
		group := f.groups[ref]
		sub := scheduling.SubGroup{
			Name: ref.SubGroup(), Parent: parent, TopologyConstraint: group.constraint(topologies),
		}
		if len(f.below[ref]) == 0 {
			sub.MinMember = group.minimum()
		} else {
			sub.MinSubGroup = group.minimum()
		}
		gang.Generation += group.Generation
		gang.Spec.SubGroups = append(gang.Spec.SubGroups, sub)
		f.addBelow(ref, &sub.Name, gang, topologies)
	}
}

// constraint returns the level that a group requires, and that which its annotation prefers. The Topology is the one
// that the annotation names, or else the only one with the level: its name is empty if there is none, or several.
func (g *Group) constraint(topologies TopologiesWith) *scheduling.TopologyConstraint {
	constraint := scheduling.TopologyConstraint{
		Topology:               g.Annotations[kai.AnnotationTopology],
		PreferredTopologyLevel: g.Annotations[kai.AnnotationTopologyPreferred],
	}
	if keys := g.Spec.SchedulingConstraints.Topology; len(keys) > 0 {
		constraint.RequiredTopologyLevel = keys[0].Key
	}
	for _, key := range []string{constraint.RequiredTopologyLevel, constraint.PreferredTopologyLevel} {
		if constraint.Topology != "" || key == "" {
			continue
		}
		if with := topologies(key); len(with) == 1 {
			constraint.Topology = with[0]
		}
	}
	if constraint == (scheduling.TopologyConstraint{}) {
		return nil
	}
	return &constraint
}

// SubGroup returns the name of a group in its gang, which is a label value: names of objects may be longer. No name of
// an object has an underscore.
func (r Ref) SubGroup() string {
	name := r.Name
	if r.Kind == Composite {
		name = "composite_" + name
	}
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:validation.LabelValueMaxLength-len(suffix)] + suffix
}

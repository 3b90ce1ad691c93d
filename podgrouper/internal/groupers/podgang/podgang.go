// Package podgang groups the pods of a Grove PodGang: its constraint on the root, a parent group for each of its group
// configs, a leaf for each of its groups.
package podgang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/grouping"
)

// Grouper groups PodGangs.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf}

func group(w grouping.Workload) grouping.Group {
	gang, err := decode(w.Owner)
	if err != nil {
		return grouping.Group{Problems: field.ErrorList{field.InternalError(field.NewPath("spec"), err)}}
	}
	tree := translation{gang: gang, spec: field.NewPath("spec"), parents: map[string]string{}}
	return tree.group()
}

// leaf returns the group that lists the pod, or else the group of the PodClique that the pod names: the operator lists
// a pod only after it has made it.
func leaf(w grouping.Workload, pod *corev1.Pod) (string, bool) {
	gang, err := decode(w.Owner)
	if err != nil {
		return "", false
	}
	clique := pod.Labels[grove.LabelPodClique]
	byClique := false
	for _, group := range gang.Spec.PodGroups {
		for _, reference := range group.PodReferences {
			if reference.Namespace == pod.Namespace && reference.Name == pod.Name {
				return group.Name, true
			}
		}
		byClique = byClique || group.Name == clique
	}
	return clique, byClique
}

func decode(owner grouping.Owner) (*grovescheduler.PodGang, error) {
	if gang, ok := owner.Object.(*grovescheduler.PodGang); ok {
		return gang, nil
	}
	gang := &grovescheduler.PodGang{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(owner.Content, gang); err != nil {
		return nil, fmt.Errorf("reading PodGang: %w", err)
	}
	return gang, nil
}

// translation makes the tree of one PodGang.
type translation struct {
	gang     *grovescheduler.PodGang
	spec     *field.Path
	parents  map[string]string // by the name of the leaf
	problems field.ErrorList
}

func (t *translation) group() grouping.Group {
	root := t.constraint(t.gang.Spec.TopologyConstraint, t.spec)
	subGroups := append(t.configs(), t.leaves()...)
	return grouping.Group{
		Constraint:        root,
		SubGroups:         subGroups,
		PriorityClassName: t.gang.Spec.PriorityClassName,
		Problems:          t.problems,
	}.OrLeaf()
}

// configs returns the parents, and records their leaves.
func (t *translation) configs() []grouping.SubGroup {
	groups := sets.New[string]()
	for _, group := range t.gang.Spec.PodGroups {
		groups.Insert(group.Name)
	}
	var parents []grouping.SubGroup
	for i := range t.gang.Spec.TopologyConstraintGroupConfigs {
		config := &t.gang.Spec.TopologyConstraintGroupConfigs[i]
		path := t.spec.Child("topologyConstraintGroupConfigs").Index(i)
		name := parentName(config.Name, groups)
		members := t.adopt(name, config.PodGroupNames, groups, path.Child("podGroupNames"))
		constraint := t.constraint(config.TopologyConstraint, path)
		if members == 0 {
			continue
		}
		groups.Insert(name)
		parents = append(parents, grouping.SubGroup{Name: name, MinSubGroup: new(members), Constraint: constraint})
	}
	return parents
}

// parentName is the name of the config, which a group can have too: the clique "a-0" and replica 0 of the scaling group
// "a" have the same name. Names are unique in a PodGroup, and pods name the leaves, so the parent gets another name.
func parentName(name string, taken sets.Set[string]) string {
	for taken.Has(name) {
		name += "-group"
	}
	return name
}

// adopt makes the named groups children of parent and returns for how many that was possible.
func (t *translation) adopt(parent string, names []string, groups sets.Set[string], path *field.Path) int32 {
	var members int32
	for i, name := range names {
		switch taken, adopted := t.parents[name]; {
		case !groups.Has(name):
			t.problems = append(t.problems, field.Invalid(path.Index(i), name, "no group of the PodGang has this name"))
		case adopted:
			t.problems = append(t.problems, field.Invalid(path.Index(i), name,
				fmt.Sprintf("the group is part of %s already, and can be part of one only", taken)))
		default:
			t.parents[name] = parent
			members++
		}
	}
	return members
}

func (t *translation) leaves() []grouping.SubGroup {
	var leaves []grouping.SubGroup
	expected, wrong := podgrouptree.ParseExpected(t.gang.Annotations)
	if wrong != nil {
		t.problems = append(t.problems, wrong)
	}
	for i := range t.gang.Spec.PodGroups {
		group := &t.gang.Spec.PodGroups[i]
		leaves = append(leaves, grouping.SubGroup{
			Name:       group.Name,
			Parent:     t.parents[group.Name],
			MinMember:  new(group.MinReplicas),
			Expected:   new(expectedOf(group, expected)),
			Constraint: t.constraint(group.TopologyConstraint, t.spec.Child("podgroups").Index(i)),
		})
	}
	return leaves
}

// expectedOf returns how many pods a group is expected to have: the number in the PodGang, or else as many as it lists.
func expectedOf(group *grovescheduler.PodGroup, said podgrouptree.Expected) int32 {
	if pods, found := said[group.Name]; found {
		return pods
	}
	return max(group.MinReplicas, int32(len(group.PodReferences)))
}

// constraint translates a constraint. Path is that of the constraint's parent.
func (t *translation) constraint(written *grovescheduler.TopologyConstraint, path *field.Path) grouping.Constraint {
	if written == nil || written.PackConstraint == nil {
		return grouping.Constraint{}
	}
	path = path.Child("topologyConstraint", "packConstraint")
	constraint := grouping.Constraint{
		Required:  wish(written.PackConstraint.Required, path.Child("required")),
		Preferred: wish(written.PackConstraint.Preferred, path.Child("preferred")),
	}
	if !constraint.HasLevel() {
		return grouping.Constraint{}
	}
	annotation := field.NewPath("metadata", "annotations").Key(grove.AnnotationTopologyName)
	constraint.Topology = grouping.Wish{Value: t.gang.Annotations[grove.AnnotationTopologyName], Path: annotation}
	if constraint.Topology.Value == "" {
		t.problems = append(t.problems, field.Required(annotation,
			fmt.Sprintf("the level in %s needs the name of the Topology that it belongs to", path)))
	}
	return constraint
}

func wish(value *string, path *field.Path) grouping.Wish {
	if value == nil {
		return grouping.Wish{Path: path}
	}
	return grouping.Wish{Value: *value, Path: path}
}

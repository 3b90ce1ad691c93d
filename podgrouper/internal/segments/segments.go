package segments

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
)

// Of returns a grouper that divides the leaves of another grouper into segments if the workload asks for that: by the
// annotations of a leaf's own template, or else those of the workload's owners. A leaf becomes the parent of its
// segments.
func Of(grouper grouping.Grouper) grouping.Grouper {
	divided := grouper
	divided.Group = func(w grouping.Workload) grouping.Group { return divide(w, grouper.Group(w)) }
	divided.Leaf = func(w grouping.Workload, pod *corev1.Pod) (string, bool) {
		leaf, known := grouper.LeafOf(w, pod)
		if !known {
			return "", false
		}
		cut, found := cutOf(w, grouper.Group(w), leaf)
		switch {
		case !found:
			return leaf, true
		case cut.one:
			return segmentName(leaf, 0), true
		}
		index, known := grouper.Index(w, pod)
		return segmentName(leaf, index/cut.size), known
	}
	return divided
}

// divide returns the tree with its leaves divided.
func divide(w grouping.Workload, group grouping.Group) grouping.Group {
	all, problems := ofOwners(w, group)
	group.Problems = append(group.Problems, problems...)
	var tree []grouping.SubGroup
	for _, leaf := range leavesOrRoot(group) {
		wish, problems := wishFor(group, leaf, all)
		group.Problems = append(group.Problems, problems...)
		parent, segments, problems := divideLeaf(w.Owner.Kind.Kind, leaf, wish)
		group.Problems = append(group.Problems, problems...)
		if leaf.Name == scheduling.RootGroup {
			group.MinMember, group.Expected, group.Left, group.MinSubGroup = parent.MinMember,
				parent.Expected, parent.Left, parent.MinSubGroup
		} else {
			tree = append(tree, parent)
		}
		tree = append(tree, segments...)
		if len(tree) > grouping.MostSubGroups {
			break
		}
	}
	group.SubGroups = tree
	group.Problems = grouping.OncePerPath(group.Problems)
	return group
}

// cutOf returns how a leaf is divided, and false if it is not.
func cutOf(w grouping.Workload, group grouping.Group, name string) (cut, bool) {
	all, _ := ofOwners(w, group)
	for _, leaf := range leavesOrRoot(group) {
		if leaf.Name != name {
			continue
		}
		if wish, _ := wishFor(group, leaf, all); wish != nil {
			cut, _ := decide(w.Owner.Kind.Kind, leaf.Indexed, *wish)
			return cut, cut.divides(*wish)
		}
	}
	return cut{}, false
}

// leavesOrRoot returns the groups below the root, or the root if it is a leaf.
func leavesOrRoot(group grouping.Group) []grouping.SubGroup {
	if len(group.SubGroups) > 0 {
		return group.SubGroups
	}
	return []grouping.SubGroup{{
		Name: scheduling.RootGroup, MinMember: group.MinMember, Expected: group.Expected, Left: group.Left,
		Indexed: group.Indexed,
	}}
}

// wishFor returns the wish for the segments of a leaf, nil if there is none: the one of its own templates, or else
// the wish for all leaves. The wish for all holds for leaves with an index on their pods; without any such leaf, it
// is a mistake about all of them.
func wishFor(group grouping.Group, leaf grouping.SubGroup, all *wish) (*wish, field.ErrorList) {
	if leaf.MinMember == nil {
		return nil, nil
	}
	if own, problems := ofTemplates(leaf); own != nil {
		return own, problems
	}
	if leaf.Indexed == nil &&
		slices.ContainsFunc(group.SubGroups, func(other grouping.SubGroup) bool { return other.Indexed != nil }) {
		return nil, nil
	}
	return all, nil
}

// divideLeaf returns a leaf as the parent of its segments, or unchanged if it is not divided.
func divideLeaf(
	kind string, leaf grouping.SubGroup, w *wish,
) (grouping.SubGroup, []grouping.SubGroup, field.ErrorList) {
	if w == nil {
		return leaf, nil, nil
	}
	cut, problems := decide(kind, leaf.Indexed, *w)
	if !cut.divides(*w) {
		return leaf, nil, problems
	}
	minima, together, wrong := cut.minima(*leaf.MinMember, leaf.Left)
	if wrong != "" {
		problems = append(problems, field.Invalid(w.path, strconv.Itoa(int(w.size)), wrong))
	}
	segments, expected := make([]grouping.SubGroup, len(minima)), cut.expected(leaf.Expected, leaf.Left)
	for i, minimum := range minima {
		segments[i] = grouping.SubGroup{
			Name: segmentName(leaf.Name, int32(i)), Parent: leaf.Name, MinMember: new(minimum), Expected: expected[i],
			Constraint: w.constraint,
		}
	}
	leaf.MinMember, leaf.Expected, leaf.Left, leaf.MinSubGroup = nil, nil, nil, &together
	return leaf, segments, problems
}

// segmentName cannot be the name of another group: names of groups in other kinds of workloads have no dots.
func segmentName(leaf string, segment int32) string {
	name := fmt.Sprintf("segment-%d", segment)
	if leaf == scheduling.RootGroup {
		return name
	}
	return leaf + "." + name
}

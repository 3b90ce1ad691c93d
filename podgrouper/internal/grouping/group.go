package grouping

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// MostSubGroups is how many groups a PodGroup holds. A grouper need not make more than one above that: a larger
// workload gets no PodGroup, and making all its groups would use up memory that other workloads need.
const MostSubGroups = 8192

// Group is a grouper's result for a workload: the root of a tree of groups.
type Group struct {
	// MinMember is how many pods of a workload without SubGroups are needed together.
	MinMember *int32
	// Left is how many pods of a workload without SubGroups have yet to complete; more are never needed. Nil while none
	// is complete.
	Left *int32
	// Expected is how many pods a workload without SubGroups is to have at the same time at present, made already or
	// not; nil if it is not known to be more than MinMember.
	Expected *int32
	// MinSubGroup is how many of the topmost SubGroups are needed together; nil means all.
	MinSubGroup *int32
	// Constraint holds for all pods together.
	Constraint Constraint
	// SubGroups are the groups below the root.
	SubGroups []SubGroup
	// Indexed is set if the pods of a workload without SubGroups carry an index.
	Indexed *Indexed
	// PriorityClassName is the priority in the workload's own spec; empty leaves it to labels.
	PriorityClassName string
	// Templates are the workload's templates, in the order in which their labels count for the PodGroup.
	Templates []Template
	// Problems are mistakes in the workload, at paths in its owner. The groups are still made as well as possible, but
	// a constraint that the user wrote is never dropped.
	Problems field.ErrorList
}

// SubGroup is a group below the root.
type SubGroup struct {
	// Name is unique in the tree.
	Name string
	// Parent is the name of the group that this one is part of, empty for the root.
	Parent string
	// MinMember is set on leaves, MinSubGroup can be on parents.
	MinMember, MinSubGroup *int32
	// Left is how many pods of a leaf have yet to complete; more are never needed. Nil while none is complete.
	Left *int32
	// Expected is how many pods a leaf is to have at the same time at present, made already or not; nil if it is not
	// known to be more than MinMember.
	Expected *int32
	// Constraint holds for the pods of the group and of those below it.
	Constraint Constraint
	// Templates are the templates of the pods of a leaf. Annotations of the first one count before annotations of the
	// second.
	Templates []Template
	// Indexed is set on a leaf if its pods have an index.
	Indexed *Indexed
}

// OrLeaf returns the group or, for a workload without groups at the moment, one that needs no pods: a PodGroup without
// subgroups is a leaf, and a leaf has to say how many pods it needs.
func (g Group) OrLeaf() Group {
	if len(g.SubGroups) == 0 && g.MinMember == nil {
		g.MinMember = new(int32(0))
		g.MinSubGroup = nil
	}
	return g
}

// PodGroupSpec returns the tree in the form of the API.
func (g Group) PodGroupSpec() scheduling.PodGroupSpec {
	spec := scheduling.PodGroupSpec{
		MinMember:          atMost(g.Left, g.MinMember),
		MinSubGroup:        g.MinSubGroup,
		TopologyConstraint: g.Constraint.topologyConstraint(),
		PriorityClassName:  g.PriorityClassName,
	}
	for _, group := range g.SubGroups {
		sub := scheduling.SubGroup{
			Name:               group.Name,
			MinMember:          atMost(group.Left, group.MinMember),
			MinSubGroup:        group.MinSubGroup,
			TopologyConstraint: group.Constraint.topologyConstraint(),
		}
		if group.Parent != scheduling.RootGroup {
			sub.Parent = new(group.Parent)
		}
		spec.SubGroups = append(spec.SubGroups, sub)
	}
	return spec
}

// WithKeys returns the tree with levels named by their keys, as far as they are known. Levels may be nil.
func (g Group) WithKeys(levels Levels) Group {
	g.Constraint = g.Constraint.withKeys(levels)
	g.SubGroups = slices.Clone(g.SubGroups)
	for i := range g.SubGroups {
		g.SubGroups[i].Constraint = g.SubGroups[i].Constraint.withKeys(levels)
	}
	return g
}

// Expects returns how many pods the leaves are expected to have, as far as that is known.
func (g Group) Expects() podgrouptree.Expected {
	expected := podgrouptree.Expected{}
	note := func(leaf string, pods, left *int32) {
		if pods := atMost(left, pods); pods != nil {
			expected[leaf] = *pods
		}
	}
	if len(g.SubGroups) == 0 {
		note(scheduling.RootGroup, g.Expected, g.Left)
	}
	for _, leaf := range g.SubGroups {
		note(leaf.Name, leaf.Expected, leaf.Left)
	}
	return expected
}

// TooLarge reports whether a PodGroup cannot hold the tree.
func (g Group) TooLarge() bool {
	return len(g.SubGroups) > MostSubGroups
}

// atMost returns the number, or the limit if that is less. Either may be nil.
func atMost(limit, number *int32) *int32 {
	if limit != nil && number != nil && *limit < *number {
		return limit
	}
	return number
}

// Check returns what is wrong with the constraints of the tree, given the Topologies that exist, at paths in the owner.
func (g Group) Check(levels Levels) field.ErrorList {
	errs := g.Constraint.Check(levels)
	above := map[string]SubGroup{}
	for _, group := range g.SubGroups {
		above[group.Name] = group
	}
	for _, group := range g.SubGroups {
		errs = append(errs, group.Constraint.Check(levels)...)
		if parent, nested := above[group.Parent]; nested {
			errs = append(errs, group.Constraint.checkBelow(parent.Constraint, levels)...)
		}
		errs = append(errs, group.Constraint.checkBelow(g.Constraint, levels)...)
	}
	return OncePerPath(errs)
}

// Ambiguous returns the aliases in the tree that several levels have, at paths in the owner.
func (g Group) Ambiguous(levels Levels) field.ErrorList {
	errs := g.Constraint.ambiguous(levels)
	for _, group := range g.SubGroups {
		errs = append(errs, group.Constraint.ambiguous(levels)...)
	}
	return OncePerPath(errs)
}

// OncePerPath keeps the first error of each path: groups from one template have the same errors.
func OncePerPath(errs field.ErrorList) field.ErrorList {
	var kept field.ErrorList
	seen := sets.New[string]()
	for _, err := range errs {
		if !seen.Has(err.Field) {
			seen.Insert(err.Field)
			kept = append(kept, err)
		}
	}
	return kept
}

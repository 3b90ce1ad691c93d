package podgrouptree

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// MinRunning is how many pods leaves need once their gang has started, by the name of the leaf. A leaf without an entry
// needs as many as to start: its MinMember.
type MinRunning map[string]int32

// String returns the numbers in the form of AnnotationMinRunning; empty if there are none.
func (m MinRunning) String() string { return Expected(m).String() }

// ParseMinRunning reads the annotations of a PodGroup, or of the object that it is made from. It returns nil if there
// is no such annotation, and an error if it is malformed.
func ParseMinRunning(annotations map[string]string) (MinRunning, *field.Error) {
	read, err := parseCounts(annotations, scheduling.AnnotationMinRunning)
	return MinRunning(read), err
}

// CheckMinRunning returns what is wrong with the numbers of pods that leaves need once their gang has started: a gang
// cannot need more then than to start. A wrong spec is not checked.
func CheckMinRunning(annotations map[string]string, spec *scheduling.PodGroupSpec) field.ErrorList {
	running, wrong := ParseMinRunning(annotations)
	if wrong != nil {
		return field.ErrorList{wrong}
	}
	tree, invalid := New(spec)
	if len(running) == 0 || len(invalid) > 0 {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(scheduling.AnnotationMinRunning)
	var errs field.ErrorList
	for _, name := range sortedKeys(running) {
		leaf := tree.Leaf(name)
		switch {
		case leaf == nil:
			errs = append(errs, field.Invalid(path, name, "no group of pods has this name"))
		case running[name] < 1 || running[name] > leaf.MinMember:
			errs = append(errs, field.Invalid(path, running[name], fmt.Sprintf(
				"must be at least 1 and at most the minMember of %q, which is %d", name, leaf.MinMember)))
		}
	}
	return errs
}

// Started returns the tree with the minima that its leaves have once the gang has started. Wrong numbers are left out.
func (t *Tree) Started(running MinRunning) *Tree {
	started := &Tree{groups: make(map[string]*Group, len(t.order))}
	for _, group := range t.order {
		own := *group
		own.Children = nil
		if pods, said := running[own.Name]; said && group.Leaf() && pods >= 1 {
			own.MinMember = min(own.MinMember, pods)
		}
		started.groups[own.Name] = &own
		started.order = append(started.order, &own)
	}
	started.Root = started.groups[scheduling.RootGroup]
	for _, group := range t.order {
		for _, child := range group.Children {
			started.groups[child.Name].Parent = started.groups[group.Name]
			started.groups[group.Name].Children = append(started.groups[group.Name].Children,
				started.groups[child.Name])
		}
	}
	return started
}

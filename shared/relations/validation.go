package relations

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// validateEach returns the errors of relations by themselves, whatever their PodGroup.
func validateEach(relations []Relation) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range relations {
		r, path := &relations[i], Path().Index(i)
		errs = append(errs, validateName(r.Name, path.Child("name"), names)...)
		if r.Level == "" {
			errs = append(errs, field.Required(path.Child("level"), "name the node label of a level of the Topology"))
		}
		errs = append(errs, r.validateItems(path)...)
		errs = append(errs, r.validateBound(path)...)
	}
	return errs
}

func validateName(name string, path *field.Path, seen sets.Set[string]) field.ErrorList {
	var errs field.ErrorList
	switch problems := validation.IsConfigMapKey(name); {
	case name == "":
		errs = append(errs, field.Required(path, "messages name the relation by it"))
	case len(problems) > 0:
		errs = append(errs, field.Invalid(path, name, strings.Join(problems, "; ")))
	case seen.Has(name):
		errs = append(errs, field.Duplicate(path, name))
	}
	seen.Insert(name)
	return errs
}

// validateItems checks the names of the relation's items, whether or not these exist.
func (r *Relation) validateItems(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.PodsOf != "" && len(r.SubGroups) > 0 {
		errs = append(errs, field.Invalid(path.Child("podsOf"), r.PodsOf,
			"is for the pods of one group, and subGroups for groups: only one of the two can be set"))
	}
	if r.PodsOf != "" && r.Gangs != "" {
		errs = append(errs, field.Invalid(path.Child("podsOf"), r.PodsOf,
			"is for pods, and gangs for gangs: only one of the two can be set"))
	}
	if r.Gangs != "" && r.Near != "" {
		errs = append(errs, field.Invalid(path.Child("gangs"), r.Gangs,
			"says nothing beside near, which is for one gang: remove one of the two"))
	}
	if r.PodsOf != "" && r.Near != "" {
		errs = append(errs, field.Invalid(path.Child("podsOf"), r.PodsOf, "near is for groups: name it in subGroups"))
	}
	if r.Near != "" {
		errs = append(errs, ValidateNear(r.Near, path.Child("near"))...)
	}
	if r.Item != "" && (r.Gangs == "" || len(r.SubGroups) > 0) {
		errs = append(errs, field.Invalid(path.Child("item"), r.Item,
			"is the name of a whole gang, for gangs without subGroups alone"))
	}
	for i, name := range r.SubGroups {
		if slices.Contains(r.SubGroups[:i], name) {
			errs = append(errs, field.Duplicate(path.Child("subGroups").Index(i), name))
		}
	}
	return errs
}

// ValidateNear returns an error if a gang cannot have that name.
func ValidateNear(name string, path *field.Path) field.ErrorList {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return field.ErrorList{field.Invalid(path, name, "is no name of a PodGroup: "+strings.Join(problems, "; "))}
	}
	return nil
}

// validateBound checks that the relation says exactly one thing about its items.
func (r *Relation) validateBound(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, number := range []struct {
		field string
		value int32
		most  int32
	}{{"maxPerDomain", r.MaxPerDomain, 0}, {"maxPercentPerDomain", r.MaxPercentPerDomain, 100}} {
		switch {
		case number.value < 0:
			errs = append(errs, field.Invalid(path.Child(number.field), number.value, "must be at least 1"))
		case number.most > 0 && number.value > number.most:
			errs = append(errs, field.Invalid(path.Child(number.field), number.value,
				fmt.Sprintf("must be at most %d", number.most)))
		}
	}
	if r.Even && !r.Preferred() {
		errs = append(errs, field.Invalid(path.Child("even"), r.Even,
			`can only be preferred: set "required": false, or use maxPerDomain`))
	}
	var said []string
	for _, bound := range []struct {
		field string
		set   bool
	}{{"maxPerDomain", r.MaxPerDomain != 0}, {"maxPercentPerDomain", r.MaxPercentPerDomain != 0}, {"even", r.Even},
		{"near", r.Near != ""}} {
		if bound.set {
			said = append(said, bound.field)
		}
	}
	switch {
	case len(said) == 0:
		errs = append(errs, field.Required(path,
			"say what holds of the items, by one of maxPerDomain, maxPercentPerDomain, even and near"))
	case len(said) > 1:
		errs = append(errs, field.Invalid(path.Child(said[1]), field.OmitValueType{},
			fmt.Sprintf("%s is set already: write a relation for each", said[0])))
	}
	return errs
}

// Validate returns why relations from Parse cannot be followed in a PodGroup: groups and levels that do not exist, and
// maxima that contradict a required level, with both paths. If levels is nil, levels are not checked.
func Validate(relations []Relation, tree *podgrouptree.Tree, levels podgrouptree.Levels) field.ErrorList {
	var errs field.ErrorList
	for i := range relations {
		r, path := &relations[i], Path().Index(i)
		found := r.validateGroups(tree, path)
		found = append(found, r.validateLevel(tree, levels, path)...)
		if len(found) == 0 {
			found = r.contradictions(tree, levels, path)
		}
		errs = append(errs, found...)
	}
	return errs
}

func (r *Relation) validateGroups(tree *podgrouptree.Tree, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range r.SubGroups {
		path := path.Child("subGroups").Index(i)
		group := tree.Group(name)
		if group == nil || name == scheduling.RootGroup {
			errs = append(errs, field.Invalid(path, name, "no subGroup has this name"))
			continue
		}
		for above := group.Parent; above != nil; above = above.Parent {
			if slices.Contains(r.SubGroups, above.Name) {
				errs = append(errs, field.Invalid(path, name,
					fmt.Sprintf("is inside of %q, which is in this list too: name one of the two", above.Name)))
			}
		}
	}
	switch {
	case len(r.SubGroups) > 0 || r.Gangs != "" || r.Near != "":
	case r.PodsOf == scheduling.RootGroup && !tree.Root.Leaf():
		errs = append(errs, field.Required(path,
			"name the items in subGroups, podsOf or gangs: the PodGroup has subgroups"))
	case tree.Group(r.PodsOf) == nil:
		errs = append(errs, field.Invalid(path.Child("podsOf"), r.PodsOf, "no subGroup has this name"))
	case tree.Leaf(r.PodsOf) == nil:
		errs = append(errs, field.Invalid(path.Child("podsOf"), r.PodsOf,
			"pods belong to groups without groups inside: name one of these, or use subGroups"))
	}
	return errs
}

func (r *Relation) validateLevel(
	tree *podgrouptree.Tree, levels podgrouptree.Levels, path *field.Path,
) field.ErrorList {
	topology := r.TopologyIn(tree)
	if topology == "" {
		return field.ErrorList{field.Required(path.Child("topology"),
			"name the Topology that the level belongs to: no topologyConstraint of the PodGroup does")}
	}
	if levels == nil {
		return nil
	}
	known, exists := levels(topology)
	if !exists {
		return field.ErrorList{
			field.Invalid(path.Child("topology"), topology, "no Topology has this name: create it, or name another"),
		}
	}
	if problem := known.Problem(topology, r.Level); problem != "" {
		return field.ErrorList{field.Invalid(path.Child("level"), r.Level, problem)}
	}
	return nil
}

// contradictions returns the required relations that cannot hold with a required level, which brings too many items
// into one domain. Only items that must be placed count.
func (r *Relation) contradictions(
	tree *podgrouptree.Tree, levels podgrouptree.Levels, path *field.Path,
) field.ErrorList {
	if r.Preferred() || r.Near != "" || r.Gangs != "" && len(r.SubGroups) == 0 {
		return nil
	}
	limit := r.Limit(r.count(tree.Root, every))
	if r.Gangs != "" && r.MaxPercentPerDomain > 0 {
		return nil // It is not known how many items other gangs have.
	}
	for _, group := range tree.Groups() {
		if !r.confines(group, tree, levels) {
			continue
		}
		if items := r.count(group, needed); items > limit {
			return field.ErrorList{field.Invalid(path, r.String(), fmt.Sprintf(
				"contradicts %s: %q, by which %d of the items stand in one domain: "+
					"relate them at a narrower level, require a broader one, or set \"required\": false",
				group.Path.Child("topologyConstraint", "requiredTopologyLevel"),
				group.Constraint.RequiredTopologyLevel, items))}
		}
	}
	return nil
}

// confines reports whether all pods of the group are in one domain of the relation's level, by the group's own
// constraint.
func (r *Relation) confines(group *podgrouptree.Group, tree *podgrouptree.Tree, levels podgrouptree.Levels) bool {
	required, topology := group.Constraint.RequiredTopologyLevel, group.Constraint.Topology
	if required == "" || topology != r.TopologyIn(tree) {
		return false
	}
	if levels == nil {
		return required == r.Level
	}
	known, _ := levels(topology)
	return known.Index(required) >= known.Index(r.Level)
}

// extent says how many children of a group are counted: all, or no more than its minimum.
type extent bool

const (
	every  extent = false
	needed extent = true
)

// count returns how many items are inside of a group; with needed, how many of them are placed with it at least.
func (r *Relation) count(group *podgrouptree.Group, which extent) int {
	if slices.Contains(r.SubGroups, group.Name) {
		return 1
	}
	if group.Leaf() {
		if len(r.SubGroups) == 0 && group.Name == r.PodsOf {
			return int(group.MinMember)
		}
		return 0
	}
	counts := make([]int, len(group.Children))
	for i, child := range group.Children {
		counts[i] = r.count(child, which)
	}
	if which == needed {
		slices.Sort(counts)
		counts = counts[:min(len(counts), int(group.MinSubGroup))]
	}
	total := 0
	for _, count := range counts {
		total += count
	}
	return total
}

package grouping

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/didyoumean"
	"packtree.dev/shared/podgrouptree"
)

// Levels says which Topologies exist and what levels they have.
type Levels = podgrouptree.Levels

// Wish is a value that a user wrote, and its path.
type Wish struct {
	Value string
	Path  *field.Path
}

// Constraint is a topology constraint as the user wrote it. Values that are not set are empty.
type Constraint struct {
	// Topology is the name of the Topology that has the levels.
	Topology Wish
	// Required is the level at which all pods must share one domain.
	Required Wish
	// Preferred is the level at which the pods should share as few domains as possible.
	Preferred Wish
}

// HasLevel reports whether the constraint constrains anything.
func (c Constraint) HasLevel() bool {
	return c.Required.Value != "" || c.Preferred.Value != ""
}

// Empty reports whether the user said nothing at all.
func (c Constraint) Empty() bool {
	return c.Topology.Value == "" && !c.HasLevel()
}

// Same reports whether both have the same values, whatever their paths.
func (c Constraint) Same(other Constraint) bool {
	return c.Topology.Value == other.Topology.Value && c.Required.Value == other.Required.Value &&
		c.Preferred.Value == other.Preferred.Value
}

// topologyConstraint returns the constraint in the form of the API, or nil if it is empty. A level without a Topology
// stays: the scheduler holds such a gang back and says why, while dropping the level would misplace the pods.
func (c Constraint) topologyConstraint() *scheduling.TopologyConstraint {
	if c.Empty() {
		return nil
	}
	return &scheduling.TopologyConstraint{
		Topology:               c.Topology.Value,
		RequiredTopologyLevel:  c.Required.Value,
		PreferredTopologyLevel: c.Preferred.Value,
	}
}

// Check returns what is wrong with the constraint, given the Topologies that exist. A level without any Topology is
// reported by the grouper, not here.
func (c Constraint) Check(levels Levels) field.ErrorList {
	if c.Topology.Value == "" || !c.HasLevel() {
		return nil
	}
	known, exists := levels(c.Topology.Value)
	if !exists {
		return field.ErrorList{
			field.Invalid(c.Topology.Path, c.Topology.Value, "no Topology has this name: create it, or name another"),
		}
	}
	var errs field.ErrorList
	for _, level := range []Wish{c.Required, c.Preferred} {
		if level.Value != "" && len(known.Named(level.Value)) == 0 {
			errs = append(errs, field.Invalid(level.Path, level.Value,
				known.Problem(c.Topology.Value, level.Value)+didYouMean(level.Value, known)))
		}
	}
	keys := known.Keys()
	required, preferred := slices.Index(keys, known.Key(c.Required.Value)), slices.Index(keys,
		known.Key(c.Preferred.Value))
	if required >= 0 && preferred >= 0 && preferred < required {
		errs = append(errs, field.Invalid(c.Preferred.Path, c.Preferred.Value,
			fmt.Sprintf("is broader than the required level %s, which implies it: %s", c.Required.Value, narrower)))
	}
	return errs
}

// What to do about a wrong value.
const (
	narrower = "name a narrower level, or remove it"
	notEmpty = "must not be empty: give it a value or remove it"
)

// checkBelow returns the levels of the constraint that have no effect, since a group above asks for a narrower one.
func (c Constraint) checkBelow(above Constraint, levels Levels) field.ErrorList {
	known, exists := levels(c.Topology.Value)
	if !exists || c.Topology.Value != above.Topology.Value {
		return nil
	}
	var errs field.ErrorList
	keys := known.Keys()
	for _, pair := range [][2]Wish{{c.Required, above.Required}, {c.Preferred, above.Preferred}} {
		own, upper := slices.Index(keys, known.Key(pair[0].Value)), slices.Index(keys, known.Key(pair[1].Value))
		if own >= 0 && upper >= 0 && own < upper {
			errs = append(errs, field.Invalid(pair[0].Path, pair[0].Value,
				fmt.Sprintf("is broader than %s at %s, which implies it: %s", pair[1].Value, pair[1].Path, narrower)))
		}
	}
	return errs
}

// ambiguous returns the aliases that several levels have. Unlike a missing level, an ambiguous one does not pass by
// itself.
func (c Constraint) ambiguous(levels Levels) field.ErrorList {
	var errs field.ErrorList
	known, _ := levels(c.Topology.Value)
	for _, level := range []Wish{c.Required, c.Preferred} {
		if len(known.Named(level.Value)) > 1 {
			errs = append(errs, field.Invalid(level.Path, level.Value, known.Problem(c.Topology.Value, level.Value)))
		}
	}
	return errs
}

// didYouMean proposes the level that an unknown name probably means.
func didYouMean(level string, known podgrouptree.Hierarchy) string {
	names := known.Keys()
	for _, one := range known {
		if one.Alias != "" {
			names = append(names, one.Alias)
		}
	}
	if meant := probably(level, names); meant != "" {
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return ""
}

// withKeys names the levels by their keys, as far as they are known. Other schedulers know no aliases.
func (c Constraint) withKeys(levels Levels) Constraint {
	written := scheduling.TopologyConstraint{
		Topology: c.Topology.Value, RequiredTopologyLevel: c.Required.Value, PreferredTopologyLevel: c.Preferred.Value,
	}
	named := levels.WithKeys(written)
	c.Required.Value, c.Preferred.Value = named.RequiredTopologyLevel, named.PreferredTopologyLevel
	return c
}

// probably returns the level that was probably meant; empty if none is similar: a level is a whole label key, and users
// often write only its name.
func probably(level string, known []string) string {
	if i := slices.IndexFunc(known, func(key string) bool { return strings.HasSuffix(key, "/"+level) }); i >= 0 {
		return known[i]
	}
	closest, _ := didyoumean.Closest(level, known)
	return closest
}

// annotationsPath is the path of annotations in every object.
var annotationsPath = field.NewPath("metadata", "annotations")

// FromAnnotations returns the topology constraint in the annotations of an object, and what is wrong with it. Path is
// that of the annotations.
func FromAnnotations(annotations map[string]string, path *field.Path) (Constraint, field.ErrorList) {
	return LevelsFromAnnotations(annotations, path, kai.AnnotationTopologyRequired, kai.AnnotationTopologyPreferred)
}

// LevelsFromAnnotations does the same with other keys for the levels.
func LevelsFromAnnotations(
	annotations map[string]string, path *field.Path, required, preferred string,
) (Constraint, field.ErrorList) {
	var errs field.ErrorList
	wish := func(key string) Wish {
		value, given := annotations[key]
		if given && value == "" {
			errs = append(errs, field.Required(path.Key(key), notEmpty))
		}
		return Wish{Value: value, Path: path.Key(key)}
	}
	constraint := Constraint{
		Topology:  wish(kai.AnnotationTopology),
		Required:  wish(required),
		Preferred: wish(preferred),
	}
	if _, given := annotations[kai.AnnotationTopology]; !given && constraint.HasLevel() {
		errs = append(errs, field.Required(constraint.Topology.Path,
			"a level needs the name of the Topology that it belongs to"))
	}
	return constraint, errs
}

// topologyAnnotations are the annotations that FromAnnotations reads.
var topologyAnnotations = []string{kai.AnnotationTopology, kai.AnnotationTopologyRequired,
	kai.AnnotationTopologyPreferred}

// FromOwners returns the topology constraint of all pods together: that of the nearest owner with any of the topology
// annotations, first the workload's own, then the owners above it, or else that of its only template.
func FromOwners(w Workload, only ...Template) (Constraint, field.ErrorList) {
	return Nearest(w, only, FromAnnotations, topologyAnnotations...)
}

// FromTemplates returns the topology constraint of the first template that has any of the topology annotations.
func FromTemplates(templates ...Template) (Constraint, field.ErrorList) {
	return First(templates, FromAnnotations, topologyAnnotations...)
}

// meantFor says, for kinds that make several workloads, for which of them their annotations are meant: the pod that
// submits a RayJob, and the one that cleans up after a RayCluster, need not be in the cluster's domain.
var meantFor = map[schema.GroupKind]schema.GroupKind{
	{Group: "ray.io", Kind: "RayJob"}:     {Group: "ray.io", Kind: "RayCluster"},
	{Group: "ray.io", Kind: "RayService"}: {Group: "ray.io", Kind: "RayCluster"},
	{Group: "ray.io", Kind: "RayCluster"}: {Group: "ray.io", Kind: "RayCluster"},
}

// means reports whether the annotations of an owner above a workload are meant for it.
func (w Workload) means(above Owner) bool {
	kind, limited := meantFor[above.Kind.GroupKind()]
	return !limited || kind == w.Owner.Kind.GroupKind()
}

// Nearest reads the annotations of the nearest owner that has any of the keys, first the workload's own, then those
// above it, or else of the first template that has any. It returns the zero value if none has.
func Nearest[T any](
	w Workload, templates []Template, read func(annotations map[string]string, path *field.Path) (T, field.ErrorList),
	keys ...string,
) (T, field.ErrorList) {
	for i, owner := range w.Upwards() {
		if !HasAny(owner.GetAnnotations(), keys...) || i > 0 && !w.means(owner) {
			continue
		}
		wish, errs := read(owner.GetAnnotations(), annotationsPath)
		if i > 0 {
			errs = elsewhere(owner, errs)
		}
		return wish, errs
	}
	return First(templates, read, keys...)
}

// First reads the annotations of the first template that has any of the keys. It returns the zero value if none has.
func First[T any](
	templates []Template, read func(annotations map[string]string, path *field.Path) (T, field.ErrorList),
	keys ...string,
) (T, field.ErrorList) {
	for _, template := range templates {
		if HasAny(template.Annotations, keys...) {
			return read(template.Annotations, template.Path.Child("annotations"))
		}
	}
	var none T
	return none, nil
}

// HasAny reports whether any of the annotations is set, empty or not.
func HasAny(annotations map[string]string, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, given := annotations[key]
		return given
	})
}

// elsewhere adds to errors that they are about another object than the workload's owner.
func elsewhere(owner Owner, errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Detail += fmt.Sprintf(" (in %s %s)", owner.Kind.Kind, owner.GetName())
	}
	return errs
}

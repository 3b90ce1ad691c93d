package grouping

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/relations"
	"packtree.dev/shared/repairpolicy"
)

// CarriedLabelKeys returns the keys of the labels that a PodGroup takes over from its workload.
func CarriedLabelKeys() []string {
	return []string{kai.LabelQueue, kai.LabelNodePool, kai.LabelPriorityClassName, kai.LabelPreemptibility}
}

// CarriedLabels returns the labels that the workload's PodGroup takes over. For each label the first object that has it
// counts: the workload's owner, the owners above it, its templates, and of its pods the one with the least name.
func CarriedLabels(w Workload, templates []Template) map[string]string {
	sources := labelSources(w, templates)
	carried := map[string]string{}
	for _, key := range CarriedLabelKeys() {
		for _, labels := range sources {
			if value := labels[key]; value != "" {
				carried[key] = value
				break
			}
		}
		if value := labelOfPods(w.Pods, key); carried[key] == "" && value != "" {
			carried[key] = value
		}
	}
	return carried
}

// CarriedAnnotations returns the annotations of the workload's owner that its PodGroup takes over: the gangs with which
// it shares a topology constraint, the topology for which its pods are made, the placement, the time for which seats
// are held, and what may be moved for its repair; the last three also of the nearest owner above it that has them. Nil
// if there are none.
func CarriedAnnotations(w Workload) map[string]string {
	carried := map[string]string{}
	for _, key := range scheduling.CarriedAnnotations() {
		carried[key] = w.Owner.GetAnnotations()[key]
	}
	carried[scheduling.AnnotationPlacement], _ = ParsePlacement(w)
	carried[scheduling.AnnotationSeatHold], _ = ParseSeatHold(w)
	repair, _ := ParseRepair(w)
	maps.Copy(carried, repair)
	maps.DeleteFunc(carried, func(_, value string) bool { return value == "" })
	if len(carried) == 0 {
		return nil
	}
	return carried
}

// ParsePlacement returns the placement that the workload, or the nearest owner above it, asks for; unset if there is
// none, or an unknown one.
func ParsePlacement(w Workload) (string, field.ErrorList) {
	must := fmt.Sprintf("must be %s or %s", scheduling.PlacementPack, scheduling.PlacementSpread)
	return validOnly(nearestOwners(w, scheduling.AnnotationPlacement, must, func(value string) bool {
		return value == scheduling.PlacementPack || value == scheduling.PlacementSpread
	}))
}

// ParseSeatHold returns for how long seats are held, by the workload or the nearest owner above it; unset if there is
// no duration, or a malformed one.
func ParseSeatHold(w Workload) (string, field.ErrorList) {
	const must = "must be a duration of at least 0, such as 90s"
	return validOnly(nearestOwners(w, scheduling.AnnotationSeatHold, must, func(value string) bool {
		hold, err := time.ParseDuration(value)
		return err == nil && hold >= 0
	}))
}

// ParseRepair returns the annotations of the workload, or of the nearest owner above it, about what may be moved for
// its repair, as they are written. Wrong ones are included: the scheduler then moves nothing, and without them it would
// follow its own configuration.
func ParseRepair(w Workload) (map[string]string, field.ErrorList) {
	said, errs := map[string]string{}, field.ErrorList{}
	for key, must := range repairpolicy.Musts() {
		value, wrong := nearestOwners(w, key, must, func(value string) bool {
			_, errs := repairpolicy.Parse(map[string]string{key: value}, repairpolicy.Policy{})
			return len(errs) == 0
		})
		said[key], errs = value, append(errs, wrong...)
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return said, errs
}

// validOnly drops a value that has errors.
func validOnly(value string, errs field.ErrorList) (string, field.ErrorList) {
	if len(errs) > 0 {
		return "", errs
	}
	return value, nil
}

// nearestOwners returns an annotation of the workload, or of the nearest owner above it that has one. If it is not
// valid, the error says what it must be.
func nearestOwners(w Workload, key, must string, valid func(value string) bool) (string, field.ErrorList) {
	for i, owner := range w.Upwards() {
		value, given := owner.GetAnnotations()[key]
		switch {
		case !given || i > 0 && !w.means(owner):
			continue
		case valid(value):
			return value, nil
		}
		errs := field.ErrorList{field.Invalid(annotationsPath.Key(key), value, must)}
		if i > 0 {
			errs = elsewhere(owner, errs)
		}
		return value, errs
	}
	return "", nil
}

// Related are the relations between a workload's groups, pods and gangs.
type Related struct {
	// Written is the annotation; empty if there is none. A wrong one is carried over too: the scheduler then holds the
	// gang back, while without it the pods would be misplaced.
	Written string
	// Relations are the parsed annotation; nil if it cannot be parsed.
	Relations []relations.Relation

	path *field.Path
}

// ParseRelations returns the relations of the workload, or of the nearest owner above it, or of the first of its
// templates that has some.
func ParseRelations(w Workload, templates []Template) (Related, field.ErrorList) {
	return Nearest(w, templates, func(annotations map[string]string, path *field.Path) (Related, field.ErrorList) {
		read, errs := relations.Parse(annotations)
		related := Related{Written: annotations[scheduling.AnnotationRelations], Relations: read, path: path}
		if len(errs) > 0 {
			related.Relations = nil
		}
		return related, related.where(errs)
	}, scheduling.AnnotationRelations)
}

// Check returns what is wrong with the relations, given the groups of the workload. Levels may be nil.
func (r Related) Check(spec *scheduling.PodGroupSpec, levels Levels) field.ErrorList {
	tree, errs := podgrouptree.New(spec)
	if len(r.Relations) == 0 || len(errs) > 0 {
		return nil
	}
	return r.where(relations.Validate(r.Relations, tree, levels))
}

// where moves errors about relations to the path where these are written.
func (r Related) where(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		if rest, ok := strings.CutPrefix(err.Field, annotationsPath.String()); ok {
			err.Field = r.path.String() + rest
		}
	}
	return errs
}

// HasCarriedLabel reports whether one of the labels is carried over to a PodGroup.
func HasCarriedLabel(labels map[string]string) bool {
	return slices.ContainsFunc(CarriedLabelKeys(), func(key string) bool { return labels[key] != "" })
}

func labelSources(w Workload, templates []Template) []map[string]string {
	var sources []map[string]string
	for _, owner := range w.Upwards() {
		sources = append(sources, owner.GetLabels())
	}
	for _, template := range templates {
		sources = append(sources, template.Labels)
	}
	return sources
}

func labelOfPods(pods []*corev1.Pod, key string) string {
	var name, value string
	for _, pod := range pods {
		if label := pod.Labels[key]; label != "" && (value == "" || pod.Name < name) {
			name, value = pod.Name, label
		}
	}
	return value
}

// ParsePreemptibility returns the value of the label; unset if there is none, or an unknown one.
func ParsePreemptibility(labels map[string]string) (scheduling.Preemptibility, field.ErrorList) {
	switch value := scheduling.Preemptibility(labels[kai.LabelPreemptibility]); value {
	case "", scheduling.Preemptible, scheduling.NonPreemptible:
		return value, nil
	default:
		path := field.NewPath("metadata", "labels").Key(kai.LabelPreemptibility)
		return "", field.ErrorList{field.Invalid(path, value,
			fmt.Sprintf("must be %s or %s", scheduling.Preemptible, scheduling.NonPreemptible))}
	}
}

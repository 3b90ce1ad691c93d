// Package podgroups builds the PodGroup of a workload, and decides the membership of a pod.
package podgroups

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

// Decision is the pod grouper's decision about a workload's PodGroup.
type Decision struct {
	// PodGroup is the whole desired object with the fields that the pod grouper owns, and no status.
	PodGroup *scheduling.PodGroup
	// Problems are mistakes in the workload, at paths in its owner.
	Problems field.ErrorList
	// Unresolved are, at paths in the workload's owner: names of Topologies and levels that do not exist, or not yet;
	// pairs of levels in the wrong order; and owners that cannot be read.
	Unresolved field.ErrorList
	// Fatal are reasons why the API server would not take the PodGroup: it must not be written.
	Fatal field.ErrorList
}

// Decide returns the PodGroup of a workload. Levels may be nil: then Topologies are not checked.
func Decide(w grouping.Workload, levels grouping.Levels) Decision {
	group := catalog.For(w.Owner).Group(w)
	labels := grouping.CarriedLabels(w, group.Templates)
	preemptibility, wrong := grouping.ParsePreemptibility(labels)
	_, misplaced := grouping.ParsePlacement(w)
	_, misheld := grouping.ParseSeatHold(w)
	_, mismoved := grouping.ParseRepair(w)
	related, unrelated := grouping.ParseRelations(w, group.Templates)
	var unresolved, ambiguous field.ErrorList
	if levels != nil {
		unresolved, ambiguous = group.Check(levels), group.Ambiguous(levels)
		group = group.WithKeys(levels)
	}
	unresolved = append(unresolved, unreadable(w)...)
	spec := group.PodGroupSpec()
	spec.Queue = labels[kai.LabelQueue]
	spec.Preemptibility = preemptibility
	if spec.PriorityClassName == "" {
		spec.PriorityClassName = labels[kai.LabelPriorityClassName]
	}
	unrelated = append(unrelated, related.Check(&spec, levels)...)
	annotations := annotations(w, group, related)
	excessive := podgrouptree.CheckMinRunning(annotations, &spec)
	if len(excessive) > 0 {
		delete(annotations, scheduling.AnnotationMinRunning)
	}
	return Decision{
		PodGroup: &scheduling.PodGroup{
			TypeMeta: metav1.TypeMeta{APIVersion: scheduling.GroupVersion.String(), Kind: "PodGroup"},
			ObjectMeta: metav1.ObjectMeta{
				Name:            NameFor(w.Owner),
				Namespace:       cmp.Or(w.Namespace, w.Owner.GetNamespace()),
				Labels:          labels,
				Annotations:     annotations,
				OwnerReferences: ownerReferences(w.Owner),
			},
			Spec: spec,
		},
		Problems:   slices.Concat(group.Problems, ambiguous, wrong, misplaced, misheld, mismoved, excessive, unrelated),
		Unresolved: unresolved,
		Fatal:      append(tooLarge(group), podgrouptree.ValidateCreate(&spec)...),
	}
}

// annotations returns the annotations of the PodGroup: the ones it takes over, the relations of its groups, and how
// many pods its leaves are expected to have. Nil if there are none.
func annotations(w grouping.Workload, group grouping.Group, related grouping.Related) map[string]string {
	all := grouping.CarriedAnnotations(w)
	for key, value := range map[string]string{
		scheduling.AnnotationExpectedPods: group.Expects().String(), scheduling.AnnotationRelations: related.Written,
	} {
		if value == "" {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = value
	}
	return all
}

// FewerGroups says what to do about a tree that is too large.
const FewerGroups = "lower the workload's replicas, make its segments or subgroups larger, or make several " +
	"workloads of it"

func tooLarge(group grouping.Group) field.ErrorList {
	if !group.TooLarge() {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "subGroups"),
		fmt.Sprintf("there are more groups than the %d that a PodGroup holds: %s", grouping.MostSubGroups,
			FewerGroups))}
}

// unreadable returns the owners of the workload that could not be read. Their annotations may not count.
func unreadable(w grouping.Workload) field.ErrorList {
	var errs field.ErrorList
	for _, owner := range w.Upwards() {
		if owner.Unreadable != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "ownerReferences"), fmt.Sprintf(
				"%s %s cannot be read, so that what it says and its own owners do not count: %s", owner.Kind.Kind,
				owner.GetName(), owner.Unreadable)))
		}
	}
	return errs
}

// NameFor returns the name of the PodGroup of a workload: a PodGang's own, or else pg-<owner name>-<owner uid>, where a
// name that is too long for both is cut. An owner that was never in a cluster has no uid; its kind is used instead.
// A uid is cut too, since an owner reference may have one of any length.
func NameFor(owner grouping.Owner) string {
	if owner.Kind.GroupKind() == owners.PodGangKind.GroupKind() {
		return owner.GetName()
	}
	suffix := "-" + string(owner.GetUID())
	if owner.GetUID() == "" {
		suffix = "-" + strings.ToLower(owner.Kind.Kind)
	}
	suffix = suffix[:min(len(suffix), 64)]
	name := "pg-" + owner.GetName()
	if most := validation.DNS1123SubdomainMaxLength - len(suffix); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + suffix
}

// ownerReferences makes the garbage collector delete the PodGroup with its workload.
func ownerReferences(owner grouping.Owner) []metav1.OwnerReference {
	if owner.GetUID() == "" {
		return nil
	}
	return []metav1.OwnerReference{{
		APIVersion: owner.Kind.GroupVersion().String(),
		Kind:       owner.Kind.Kind,
		Name:       owner.GetName(),
		UID:        owner.GetUID(),
		Controller: new(true),
	}}
}

package grouping

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// CarriedLabelKeys returns the keys of the labels that go from a workload to its PodGroup.
func CarriedLabelKeys() []string {
	return []string{kai.LabelQueue, kai.LabelNodePool, kai.LabelPriorityClassName, kai.LabelPreemptibility}
}

// CarriedLabels returns the labels that the workload's PodGroup takes over. For each the first counts that has it: the
// workload's owner, the owners above it, its templates, and of its pods the one with the least name.
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

// CarriedAnnotations returns the annotations of the workload's owner that its PodGroup takes over: with which other gangs it
// shares a topology constraint, for which topology its pods are made, and which domains it would rather have; the last also of
// the nearest owner above it that says so. Nil if there are none.
func CarriedAnnotations(w Workload) map[string]string {
	carried := map[string]string{}
	for _, key := range scheduling.CarriedAnnotations() {
		carried[key] = w.Owner.GetAnnotations()[key]
	}
	carried[scheduling.AnnotationPlacement], _ = ParsePlacement(w)
	maps.DeleteFunc(carried, func(_, value string) bool { return value == "" })
	if len(carried) == 0 {
		return nil
	}
	return carried
}

// ParsePlacement returns the placement that the workload, or the nearest owner above it, asks for; unset where nobody says anything,
// or nothing that is known.
func ParsePlacement(w Workload) (string, field.ErrorList) {
	for i, owner := range w.Upwards() {
		value, given := owner.GetAnnotations()[scheduling.AnnotationPlacement]
		switch {
		case !given || i > 0 && !w.means(owner):
			continue
		case value == scheduling.PlacementPack || value == scheduling.PlacementSpread:
			return value, nil
		}
		errs := field.ErrorList{field.Invalid(annotationsPath.Key(scheduling.AnnotationPlacement), value,
			fmt.Sprintf("must be %s or %s", scheduling.PlacementPack, scheduling.PlacementSpread))}
		if i > 0 {
			errs = elsewhere(owner, errs)
		}
		return "", errs
	}
	return "", nil
}

// HasCarriedLabel reports whether the labels say anything that goes to a PodGroup.
func HasCarriedLabel(labels map[string]string) bool {
	for _, key := range CarriedLabelKeys() {
		if labels[key] != "" {
			return true
		}
	}
	return false
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

// ParsePreemptibility returns what the label says, unset where it says nothing or nothing that is known.
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

package topology

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/spares"
)

// Spares returns how many nodes a topology asks to be kept empty, and what is wrong with that. It may name levels by
// their domains or by their node labels.
func (t *Topology) Spares() ([]spares.Wanted, *field.Error) {
	levels := make(podgrouptree.Hierarchy, len(t.Spec.Levels))
	for i, level := range t.Spec.Levels {
		levels[i] = podgrouptree.Level{Key: level.Key, Alias: string(level.Domain)}
	}
	return spares.Parse(t.Annotations, levels)
}

// sparesForScheduler are the annotations by which the scheduler's Topology asks for them. What is wrong, since it was
// written past the webhooks or levels went, stays as it is: the scheduler reports it.
func (t *Topology) sparesForScheduler() map[string]string {
	said := t.Annotations[kaiv1alpha1.AnnotationSpares]
	if wanted, wrong := t.Spares(); wrong == nil {
		if wanted == nil {
			return nil
		}
		text, _ := json.Marshal(wanted) // Of strings and numbers.
		said = string(text)
	}
	return map[string]string{kaiv1alpha1.AnnotationSpares: said}
}

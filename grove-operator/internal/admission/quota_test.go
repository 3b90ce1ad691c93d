package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

func TestTheQueueOfASetStays(t *testing.T) {
	in := func(queue string) *grovev1alpha1.PodCliqueSet {
		set := fixture.Set(t, manifest("s", "cliques: ["+one("a", "")+"]"))
		if queue != "" {
			set.Labels = map[string]string{kueue.LabelQueue: queue}
		}
		return set
	}
	changed := []string{"metadata.labels[kueue.x-k8s.io/queue-name]: FieldValueForbidden"}
	for name, c := range map[string]struct {
		old, new string
		want     []string
	}{
		"it stays":       {old: "red", new: "red"},
		"it changes":     {old: "red", new: "blue", want: changed},
		"it comes later": {new: "red", want: changed},
		"it is gone":     {old: "red", want: changed},
		"there is none":  {},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := admission.ValidateUpdate(in(c.old), in(c.new), admission.Cluster{Lookup: fixture.Lookup()}, 0)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
		})
	}
}

func TestCliquesHaveNoQueueOfTheirOwn(t *testing.T) {
	const refused = "spec.template.cliques[0].labels[kueue.x-k8s.io/queue-name]: FieldValueForbidden"
	for name, c := range map[string]struct {
		set, clique string
		group       bool
		want        []string
	}{
		"that of the set":            {set: "red", clique: "red"},
		"one in a set without":       {clique: "red", want: []string{refused}},
		"another than that of a set": {set: "red", clique: "blue", want: []string{refused}},
		"one with a group":           {clique: "red", group: true},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, manifest("s", "cliques: ["+one("a", "")+"]"))
			set.Spec.Template.Cliques[0].Labels = map[string]string{kueue.LabelQueue: c.clique}
			if c.set != "" {
				set.Labels = map[string]string{kueue.LabelQueue: c.set}
			}
			if c.group {
				set.Spec.Template.Cliques[0].Labels[kueue.LabelGroup] = "g"
			}
			_, errs := admission.ValidateCreate(set, admission.Cluster{Lookup: fixture.Lookup()})
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
		})
	}
}

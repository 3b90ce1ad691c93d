package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/fixture"
)

func TestAnnotationForMissingLevels(t *testing.T) {
	const key = grovev1alpha1.AnnotationMissingTopologyLevel
	wrong := []string{"metadata.annotations[packtree.dev/missing-topology-level]: FieldValueNotSupported"}
	annotated := func(value string) *grovev1alpha1.PodCliqueSet {
		set := fixture.Set(t, "metadata: {name: s}\nspec: {template: {cliques: [{name: a, spec: {podSpec: {}}}]}}")
		if value != "" {
			set.Annotations = map[string]string{key: value}
		}
		return set
	}
	cluster := admission.Cluster{TopologyAware: true, Lookup: fixture.Lookup()}
	for name, c := range map[string]struct {
		// old is the value before; "new" for a set that is being created.
		old, value string
		want       []string
	}{
		"unset":                      {old: "new"},
		"hold":                       {old: "new", value: "hold"},
		"drop":                       {old: "new", value: "drop"},
		"another word":               {old: "new", value: "Hold", want: wrong},
		"changed to hold":            {value: "hold"},
		"changed to another word":    {old: "hold", value: "wait", want: wrong},
		"taken away":                 {old: "hold"},
		"what was there may stay":    {old: "wait", value: "wait"},
		"what was there may be left": {old: "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			if c.old == "new" {
				_, errs := admission.ValidateCreate(annotated(c.value), cluster)
				got = summary(errs)
			} else {
				_, errs := admission.ValidateUpdate(annotated(c.old), annotated(c.value), cluster, 0)
				got = summary(errs)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/fixture"
)

func TestAnnotationForMissingLevels(t *testing.T) {
	testAnnotation(t, grovev1alpha1.AnnotationMissingTopologyLevel, "hold", "drop")
}

func TestAnnotationForImageUpdates(t *testing.T) {
	testAnnotation(t, grovev1alpha1.AnnotationImageUpdate, "InPlace", "Recreate")
}

// testAnnotation: of an annotation one value and another are taken, and no other.
func testAnnotation(t *testing.T, key, one, another string) {
	t.Helper()
	wrong := []string{"metadata.annotations[" + key + "]: FieldValueNotSupported"}
	misspelt := strings.ToUpper(one)
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
		"one value":                  {old: "new", value: one},
		"another value":              {old: "new", value: another},
		"misspelt":                   {old: "new", value: misspelt, want: wrong},
		"changed to a value":         {value: one},
		"changed to another word":    {old: one, value: "wait", want: wrong},
		"taken away":                 {old: one},
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

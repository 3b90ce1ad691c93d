package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

func TestAnnotationForMissingLevels(t *testing.T) {
	testAnnotation(t, grovev1alpha1.AnnotationMissingTopologyLevel, "hold", "drop")
}

func TestAnnotationForImageUpdates(t *testing.T) {
	testAnnotation(t, grovev1alpha1.AnnotationImageUpdate, "InPlace", "Recreate")
}

// testAnnotation checks that an annotation accepts two values, and no other.
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
			var old *grovev1alpha1.PodCliqueSet
			if c.old != "new" {
				old = annotated(c.old)
			}
			_, errs := validated(cluster(), old, annotated(c.value), 0)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
		})
	}
}

func TestRepair(t *testing.T) {
	const move, after = scheduling.AnnotationRepairMove, scheduling.AnnotationRepairAfter
	contradiction := []string{`spec.template.repair.move: Invalid value: "none": contradicts metadata.annotations[packtree.dev/repair-move], ` +
		`which is "gang": leave one of them out`}
	type policy = grovev1alpha1.RepairPolicy
	made := func(repair *policy, annotations map[string]string) *grovev1alpha1.PodCliqueSet {
		set := fixture.Set(t, manifest("s", "cliques: ["+one("a", "")+"]"))
		set.Spec.Template.Repair, set.Annotations = repair, annotations
		return set
	}
	for name, c := range map[string]struct {
		old, set *grovev1alpha1.PodCliqueSet
		want     []string
	}{
		"both fields":              {set: made(&policy{Move: "gang", After: "2m"}, nil)},
		"an annotation alone":      {set: made(nil, map[string]string{move: "all"})},
		"one field, one annotated": {set: made(&policy{Move: "gang"}, map[string]string{after: "2m"})},
		"an unknown word": {set: made(&policy{Move: "all"}, nil),
			want: []string{`spec.template.repair.move: Invalid value: "all": must be none, subgroup or gang`}},
		"a time without a unit": {set: made(&policy{After: "10"}, nil),
			want: []string{`spec.template.repair.after: Invalid value: "10": must be a duration of at least 0, such as 2m`}},
		"created with a contradiction": {set: made(&policy{Move: "none"}, map[string]string{move: "gang"}),
			want: contradiction},
		"a field is added to an annotation": {old: made(nil, map[string]string{move: "gang"}),
			set: made(&policy{Move: "none"}, map[string]string{move: "gang"}), want: contradiction},
		"an annotation is added to a field": {old: made(&policy{Move: "none"}, nil),
			set: made(&policy{Move: "none"}, map[string]string{move: "gang"}), want: contradiction},
		"a contradiction that was there may stay": {old: made(&policy{Move: "none"}, map[string]string{move: "gang"}),
			set: made(&policy{Move: "none"}, map[string]string{move: "gang", "team": "a"})},
		"it may change, and go": {old: made(&policy{Move: "none", After: "2m"}, nil),
			set: made(&policy{After: "3m"}, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := validated(cluster(), c.old, c.set, 3)
			assert.Empty(t, cmp.Diff(c.want, messages(errs)), "errors (-want +got)")
		})
	}
}

func TestMinRunning(t *testing.T) {
	const path = "spec.template.cliques[0].spec.minRunning: Invalid value: "
	for spec, want := range map[string][]string{
		"replicas: 4, minAvailable: 3":                nil,
		"replicas: 4, minAvailable: 3, minRunning: 3": nil,
		"replicas: 4, minAvailable: 3, minRunning: 1": nil,
		"replicas: 4, minAvailable: 3, minRunning: 4": {path + "4: must be at least 1 and at most minAvailable, which is 3: a clique cannot need more pods to go on than to start"},
		"replicas: 4, minAvailable: 3, minRunning: 0": {path + "0: must be at least 1 and at most minAvailable, which is 3: a clique cannot need more pods to go on than to start"},
	} {
		set := fixture.Set(t, manifest("s", "cliques: ["+one("a", spec)+"]"))
		_, errs := admission.ValidateCreate(set, cluster())
		assert.Empty(t, cmp.Diff(want, messages(errs)), "%s (-want +got)", spec)
		other := set.DeepCopy()
		other.Spec.Template.Cliques[0].Spec.MinRunning = new(int32(2))
		_, errs = admission.ValidateUpdate(set, other, cluster(), 3)
		assert.Empty(t, errs, "%s cannot change", spec)
	}
}

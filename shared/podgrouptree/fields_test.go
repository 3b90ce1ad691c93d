package podgrouptree_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/repairpolicy"
)

func TestFields(t *testing.T) {
	type said map[string]string
	const move, after = scheduling.AnnotationRepairMove, scheduling.AnnotationRepairAfter
	for name, c := range map[string]struct {
		fields repairpolicy.Fields
		beside said
		want   said
		wrong  string
	}{
		"nothing":                     {},
		"nothing beside annotations":  {beside: said{move: "gang", after: "1m"}},
		"only what":                   {fields: repairpolicy.Fields{Move: "gang"}, want: said{move: "gang"}},
		"only when, as it is written": {fields: repairpolicy.Fields{After: "120s"}, want: said{after: "120s"}},
		"both": {fields: repairpolicy.Fields{Move: "none", After: "0s"},
			want: said{move: "none", after: "0s"}},
		"an annotation says the same": {fields: repairpolicy.Fields{Move: "gang", After: "2m"},
			beside: said{move: "gang", after: "120s"}, want: said{move: "gang", after: "2m"}},
		"an annotation says the other": {fields: repairpolicy.Fields{Move: "gang"}, beside: said{after: "1m"},
			want: said{move: "gang"}},
		"an annotation says more":       {fields: repairpolicy.Fields{Move: "subgroup"}, beside: said{move: "gang"}, wrong: `spec.repair.move: Invalid value: "subgroup": contradicts spec.annotations[packtree.dev/repair-move], which is "gang": leave one of them out`},
		"an annotation of another time": {fields: repairpolicy.Fields{After: "2m"}, beside: said{after: "1m"}, wrong: `spec.repair.after: Invalid value: "2m": contradicts spec.annotations[packtree.dev/repair-after], which is "1m": leave one of them out`},
		"an annotation that is wrong":   {fields: repairpolicy.Fields{Move: "none"}, beside: said{move: ""}, wrong: `spec.repair.move: Invalid value: "none": contradicts spec.annotations[packtree.dev/repair-move], which is "": leave one of them out`},
		"an unknown word": {fields: repairpolicy.Fields{Move: "all"}, beside: said{move: "all"},
			wrong: `spec.repair.move: Invalid value: "all": must be none, subgroup or gang`},
		"no unit, and a word": {fields: repairpolicy.Fields{Move: "x", After: "5"},
			wrong: `[spec.repair.move: Invalid value: "x": must be none, subgroup or gang, ` +
				`spec.repair.after: Invalid value: "5": must be a duration of at least 0, such as 2m]`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := field.NewPath("spec")
			wrong := ""
			if errs := c.fields.Validate(spec.Child("repair"), c.beside, spec.Child("annotations")); len(errs) > 0 {
				wrong = errs.ToAggregate().Error()
			}
			assert.Equal(t, c.wrong, wrong, "got %s\nwant %s", wrong, c.wrong)
			got := c.fields.Annotations()
			assert.False(t, wrong == "" && !maps.Equal(got, c.want), "annotations %v, want %v", got, c.want)
		})
	}
}

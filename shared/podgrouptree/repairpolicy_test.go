package podgrouptree_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/repairpolicy"
)

func TestParse(t *testing.T) {
	type said map[string]string
	const move, after = scheduling.AnnotationRepairMove, scheduling.AnnotationRepairAfter
	unset := repairpolicy.Policy{Move: scheduling.RepairMoveSubGroup, After: time.Minute}
	for name, c := range map[string]struct {
		said  said
		want  repairpolicy.Policy
		wrong string
	}{
		"nothing":        {want: unset},
		"something else": {said: said{"packtree.dev/seat-hold": "x"}, want: unset},
		"only what":      {said: said{move: "gang"}, want: repairpolicy.Policy{Move: "gang", After: time.Minute}},
		"only when": {said: said{after: "90s"},
			want: repairpolicy.Policy{Move: "subgroup", After: 90 * time.Second}},
		"both": {said: said{move: "none", after: "0"}, want: repairpolicy.Policy{Move: "none"}},
		"an unknown word": {said: said{move: "Gang"},
			wrong: `metadata.annotations[packtree.dev/repair-move]: Invalid value: "Gang": must be none, subgroup or gang`},
		"an empty word": {said: said{move: ""},
			wrong: `metadata.annotations[packtree.dev/repair-move]: Invalid value: "": must be none, subgroup or gang`},
		"a number without unit": {said: said{after: "120"},
			wrong: `metadata.annotations[packtree.dev/repair-after]: Invalid value: "120": must be a duration of at least 0, such as 2m`},
		"a time in the past": {said: said{move: "gang", after: "-1m"},
			wrong: `metadata.annotations[packtree.dev/repair-after]: Invalid value: "-1m": must be a duration of at least 0, such as 2m`},
		"both wrong": {said: said{move: "all", after: "soon"},
			wrong: `[metadata.annotations[packtree.dev/repair-move]: Invalid value: "all": must be none, subgroup or gang, ` +
				`metadata.annotations[packtree.dev/repair-after]: Invalid value: "soon": must be a duration of at least 0, such as 2m]`},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := repairpolicy.Parse(c.said, unset)
			wrong := ""
			if len(errs) > 0 {
				wrong = errs.ToAggregate().Error()
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.wrong, wrong)
		})
	}
}

func TestAllows(t *testing.T) {
	const none, subGroup, whole = scheduling.RepairMoveNone, scheduling.RepairMoveSubGroup, scheduling.RepairMoveGang
	for policy, allowed := range map[string]map[string]bool{
		"":       {subGroup: false, whole: false},
		none:     {subGroup: false, whole: false},
		subGroup: {subGroup: true, whole: false},
		whole:    {subGroup: true, whole: true},
	} {
		for move, want := range allowed {
			assert.Equal(t, want, (repairpolicy.Policy{Move: policy}).Allows(move), "policy %q allows %s", policy, move)
		}
	}
}

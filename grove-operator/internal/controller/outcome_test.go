package controller_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/grove-operator/internal/passes"
)

func TestOnlyConflictsAreNoError(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("changed"))
	internal := apierrors.NewInternalError(errors.New("broken"))
	for name, c := range map[string]struct {
		outcome error
		quiet   bool
	}{
		"no error":   {},
		"a conflict": {fmt.Errorf("deleting: %w", conflict), true},
		"conflicts of several writes": {
			errors.Join(conflict, fmt.Errorf("all: %w", errors.Join(conflict, conflict))), true,
		},
		"an error beside a conflict":          {errors.Join(conflict, internal), false},
		"an error beside a conflict, wrapped": {fmt.Errorf("all: %w", errors.Join(conflict, internal)), false},
		"another error":                       {internal, false},
	} {
		t.Run(name, func(t *testing.T) {
			said := reconcile.Result{RequeueAfter: time.Hour}
			result, err := passes.Outcome(t.Context(), said, c.outcome)
			if c.quiet && (err != nil || result.RequeueAfter != passes.Window) {
				t.Errorf("error %v, again after %s; want no error and another look", err, result.RequeueAfter)
			}
			want := reconcile.Result{}
			if c.outcome == nil {
				want = said
			}
			if !c.quiet && (!errors.Is(err, c.outcome) || result != want) {
				t.Errorf("result %+v, error %v; want the error %v alone, or the result", result, err, c.outcome)
			}
		})
	}
}

func TestTheNextPassIsDueAtTheEarliestMoment(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		moments []time.Time
		want    time.Duration
	}{
		"no moment":                {[]time.Time{{}, {}}, 0},
		"one":                      {[]time.Time{{}, now.Add(time.Hour)}, time.Hour},
		"the earlier one":          {[]time.Time{now.Add(time.Hour), now.Add(time.Minute)}, time.Minute},
		"one that is over is soon": {[]time.Time{now.Add(-time.Hour), now.Add(time.Minute)}, time.Millisecond},
	} {
		assert.Equal(t, c.want, passes.At(now, c.moments...).RequeueAfter, "%s: after", name)
	}
}

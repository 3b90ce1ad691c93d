package conflicts_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/grove-operator/internal/coalesce"
	"packtree.dev/grove-operator/internal/conflicts"
	"packtree.dev/grove-operator/internal/pace"
)

func TestLookAgain(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("changed"))
	internal := apierrors.NewInternalError(errors.New("broken"))
	for name, c := range map[string]struct {
		outcome error
		quiet   bool
	}{
		"no error":                            {},
		"a conflict":                          {fmt.Errorf("deleting: %w", conflict), true},
		"conflicts of several writes":         {errors.Join(conflict, fmt.Errorf("all: %w", errors.Join(conflict, conflict))), true},
		"an error beside a conflict":          {errors.Join(conflict, internal), false},
		"an error beside a conflict, wrapped": {fmt.Errorf("all: %w", errors.Join(conflict, internal)), false},
		"a share that is spent":               {errors.Join(conflict, fmt.Errorf("creating: %w", pace.ErrShareSpent)), true},
		"an error beside a share spent":       {errors.Join(internal, pace.ErrShareSpent), false},
		"another error":                       {internal, false},
	} {
		t.Run(name, func(t *testing.T) {
			inner := reconcile.TypedFunc[string](func(context.Context, string) (reconcile.Result, error) { return reconcile.Result{}, c.outcome })
			result, err := conflicts.LookAgain(inner).Reconcile(t.Context(), "request")
			if c.quiet && (err != nil || result.RequeueAfter != coalesce.Window) {
				t.Errorf("error %v, again after %s; want no error and another look", err, result.RequeueAfter)
			}
			if !c.quiet && (!errors.Is(err, c.outcome) || result.RequeueAfter != 0) {
				t.Errorf("error %v, again after %s; want what the reconciler said", err, result.RequeueAfter)
			}
		})
	}
}

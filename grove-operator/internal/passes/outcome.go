package passes

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Outcome is what Reconcile returns: the error or else the result. Conflicts alone, where another client was faster or the
// cache is behind, are no error: another pass comes after Window, when the cache shows what was written.
func Outcome(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	switch {
	case err == nil:
		return result, nil
	case !onlyConflicts(err):
		return reconcile.Result{}, err
	}
	log.FromContext(ctx).V(1).Info("another pass follows", "because", err.Error())
	return reconcile.Result{RequeueAfter: Window}, nil
}

// onlyConflicts looks at the whole tree of an error, of which errors.As is content with one part.
func onlyConflicts(err error) bool {
	switch wrapping := any(err).(type) {
	case interface{ Unwrap() []error }:
		for _, inner := range wrapping.Unwrap() {
			if !onlyConflicts(inner) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return onlyConflicts(wrapping.Unwrap())
	}
	return err != nil && apierrors.IsConflict(err)
}

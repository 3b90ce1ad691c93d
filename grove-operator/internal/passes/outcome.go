package passes

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Outcome is the result of Reconcile: the error or else the result. Conflicts alone are no error: another client was
// faster, or the cache is behind. Another pass comes after Window, when the cache shows what was written.
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

// At is the result of a pass after which another one is due at the earliest of some moments; zero ones do not count.
func At(now time.Time, moments ...time.Time) reconcile.Result {
	moments = slices.DeleteFunc(moments, time.Time.IsZero)
	if len(moments) == 0 {
		return reconcile.Result{}
	}
	next := slices.MinFunc(moments, time.Time.Compare)
	return reconcile.Result{RequeueAfter: max(next.Sub(now), time.Millisecond)}
}

// onlyConflicts checks the whole tree of an error, while errors.As is satisfied with one part.
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

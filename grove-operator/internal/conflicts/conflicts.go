// Package conflicts has controllers look again after a conflict. Somebody else was faster, or the cache is behind: nothing
// that anybody has to read of in a log.
package conflicts

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/grove-operator/internal/coalesce"
)

// LookAgain returns a reconciler that has a request come back after coalesce.Window where inner met conflicts and no other
// error.
func LookAgain[R comparable](inner reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	return reconcile.TypedFunc[R](func(ctx context.Context, request R) (reconcile.Result, error) {
		result, err := inner.Reconcile(ctx, request)
		if err == nil || !only(err) {
			return result, err
		}
		log.FromContext(ctx).V(1).Info("looking again after a conflict", "conflict", err.Error())
		return reconcile.Result{RequeueAfter: coalesce.Window}, nil
	})
}

// only tells whether an error consists of conflicts. The whole tree is walked, since errors.As is content with one.
func only(err error) bool {
	switch wrapping := any(err).(type) {
	case interface{ Unwrap() []error }:
		for _, inner := range wrapping.Unwrap() {
			if !only(inner) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return only(wrapping.Unwrap())
	}
	return err != nil && apierrors.IsConflict(err)
}

// Package conflicts has controllers look again after a conflict, where somebody else was faster or the cache is behind, and
// where a pass has spent its share: nothing that anybody has to read of in a log.
package conflicts

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/grove-operator/internal/coalesce"
	"packtree.dev/grove-operator/internal/pace"
)

// LookAgain returns a reconciler that has a request come back after coalesce.Window where inner met conflicts, or had no share
// left, and no other error. By then the cache shows what was written.
func LookAgain[R comparable](inner reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	return reconcile.TypedFunc[R](func(ctx context.Context, request R) (reconcile.Result, error) {
		result, err := inner.Reconcile(ctx, request)
		if err == nil || !only(err) {
			return result, err
		}
		log.FromContext(ctx).V(1).Info("looking again", "because", err.Error())
		return reconcile.Result{RequeueAfter: coalesce.Window}, nil
	})
}

// only tells whether an error consists of what another look heals. The whole tree is walked, since errors.As is content with
// one.
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
	return err != nil && (apierrors.IsConflict(err) || errors.Is(err, pace.ErrShareSpent))
}

package pace

import (
	"context"
	"errors"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Share is how many requests that change something one pass makes, its status not counted. What is left then is done in
// further passes, between which others have their turn. Requests that fail do not count: those that fail always would keep all
// others from being made.
const Share = 32

// ErrShareSpent is why a pass made no further request. It is nothing that went wrong: another pass goes on.
var ErrShareSpent = errors.New("the rest is left to the next pass")

// share is what is left to a pass. A nil share has no end.
type share struct {
	left atomic.Int32
}

func (s *share) take() bool {
	if s == nil || s.left.Add(-1) >= 0 {
		return true
	}
	s.left.Add(1)
	return false
}

func (s *share) giveBack() {
	if s != nil {
		s.left.Add(1)
	}
}

type shareKey struct{}

// shareOf is the share of the pass whose context it is; nil outside a pass.
func shareOf(ctx context.Context) *share {
	mine, _ := ctx.Value(shareKey{}).(*share)
	return mine
}

// Passes returns a reconciler each pass of which has its share.
func Passes[R comparable](inner reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	return reconcile.TypedFunc[R](func(ctx context.Context, request R) (reconcile.Result, error) {
		mine := &share{}
		mine.left.Store(Share)
		return inner.Reconcile(context.WithValue(ctx, shareKey{}, mine), request)
	})
}

package managerstart

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// settling waits for 40 s in all.
var settling = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Steps: 13}

// Settle tries something without which a program does not work, for 40 s in all. It returns the last error. Only a kind
// that is not installed and an object that is not valid end it at once: an API server that does not answer will, and
// right after an installation it does not know the new rights yet, nor for admission the new kinds.
func Settle(ctx context.Context, try func(context.Context) error) error {
	var last error
	_ = wait.ExponentialBackoffWithContext(ctx, settling, func(ctx context.Context) (done bool, err error) {
		last = try(ctx)
		return last == nil || meta.IsNoMatchError(last) || apierrors.IsInvalid(last), nil
	})
	return last
}

// Indexer is a manager's indexer. An index is added as Settle tries, since the API server is asked for its kind.
func Indexer(mgr manager.Manager) client.FieldIndexer { return indexer{mgr.GetFieldIndexer()} }

type indexer struct{ client.FieldIndexer }

func (i indexer) IndexField(ctx context.Context, of client.Object, field string, values client.IndexerFunc) error {
	return Settle(ctx, func(ctx context.Context) error { return i.FieldIndexer.IndexField(ctx, of, field, values) })
}

package managerstart_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"packtree.dev/shared/installation"
)

// answers is a mapper that returns its errors one after the other, and then finds every kind.
type answers struct {
	meta.RESTMapper
	lock   sync.Mutex
	errors []error
}

func (a *answers) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if len(a.errors) > 0 {
		err := a.errors[0]
		a.errors = a.errors[1:]
		return nil, err
	}
	return &meta.RESTMapping{GroupVersionKind: kind.WithVersion(gadgets.Version)}, nil
}

// awaited is a kind, and the queue to which its source adds a request when it starts.
func awaited(
	t *testing.T, mapper meta.RESTMapper,
) (*installation.Kind, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	t.Helper()
	kind := installation.NewKind(mapper, gadgets)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	watched := source.Func(func(_ context.Context,
		queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{})
		return nil
	})
	require.NoError(t, installation.Once(kind, watched).Start(t.Context(), queue))
	return kind, queue
}

func TestAKindThatIsNotServedYetIsWatchedWhenItIs(t *testing.T) {
	missing := &meta.NoKindMatchError{GroupKind: gadgets.GroupKind()}
	kind, queue := awaited(t, &answers{errors: []error{missing, errors.New("the API server does not answer"), missing}})
	assert.False(t, kind.Served(), "it is watched before anybody has looked for it")
	assert.Zero(t, queue.Len(), "it is watched before anybody has looked for it")
	require.NoError(t, kind.Start(t.Context()))
	assert.True(t, kind.Served(), "it was found and is not served")
	_, closed := queue.Get()
	assert.False(t, closed, "its source was not started")
}

func TestNobodyWaitsForAKindAfterTheEnd(t *testing.T) {
	missing := make([]error, 1000)
	for i := range missing {
		missing[i] = &meta.NoKindMatchError{GroupKind: gadgets.GroupKind()}
	}
	kind, queue := awaited(t, &answers{errors: missing})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.NoError(t, kind.Start(ctx))
	assert.False(t, kind.Served(), "a kind is watched that nobody has found")
	assert.Zero(t, queue.Len(), "a kind is watched that nobody has found")
}

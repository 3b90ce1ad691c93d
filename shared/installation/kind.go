package installation

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Kind is a kind that the API server may not serve when a program starts, and that may have no definition to wait for:
// a kind of a newer Kubernetes, or one of our own if the programs were upgraded before the definitions.
type Kind struct {
	mapper meta.RESTMapper
	kind   schema.GroupVersionKind
	served chan struct{} // Closed once the kind is served.
}

// Await returns a kind for which the manager asks when it starts, and from then on less and less often, until it is
// served.
func Await(mgr manager.Manager, kind schema.GroupVersionKind) (*Kind, error) {
	awaited := NewKind(mgr.GetRESTMapper(), kind)
	if err := mgr.Add(awaited); err != nil {
		return nil, fmt.Errorf("waiting for kind %s: %w", kind.Kind, err)
	}
	return awaited, nil
}

// NewKind returns a kind that counts as served once Start has found it.
func NewKind(mapper meta.RESTMapper, kind schema.GroupVersionKind) *Kind {
	return &Kind{mapper: mapper, kind: kind, served: make(chan struct{})}
}

// Start looks for the kind until it is served or the context ends.
func (k *Kind) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithValues("kind", k.kind.Kind)
	said := false
	found := lessAndLessOften(ctx, func() bool {
		_, err := k.mapper.RESTMapping(k.kind.GroupKind(), k.kind.Version)
		switch {
		case err == nil:
			return true
		case !meta.IsNoMatchError(err):
			logger.Error(err, "asking for kind, to be tried again")
		case !said:
			logger.Info("kind is not installed; it is watched once it is")
		}
		said = true
		return false
	})
	if found {
		close(k.served)
	}
	return nil
}

// NeedLeaderElection is false: a standby replica has its caches filled too.
func (k *Kind) NeedLeaderElection() bool { return false }

// Served reports whether the kind was found.
func (k *Kind) Served() bool {
	select {
	case <-k.served:
		return true
	default:
		return false
	}
}

// Once is a source that starts when the kind is served. A controller does not wait for it to be in sync.
func Once[Request comparable](kind *Kind, started source.TypedSource[Request]) source.TypedSource[Request] {
	return source.TypedFunc[Request](func(ctx context.Context,
		queue workqueue.TypedRateLimitingInterface[Request]) error {
		go func() {
			select {
			case <-ctx.Done():
				return
			case <-kind.served:
			}
			if err := started.Start(ctx, queue); err != nil {
				log.FromContext(ctx).Error(err, "watching kind", "kind", kind.kind.Kind)
			}
		}()
		return nil
	})
}

package managerstart_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"packtree.dev/shared/managerstart"
)

// requests adds requests until the context ends, as for an operator that has to end while there is work.
func requests(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}})
		}
	}()
	return nil
}

func TestAManagerEndsWhileItsControllersWork(t *testing.T) {
	controllers := managerstart.Controllers()
	controllers.SkipNameValidation, controllers.MaxConcurrentReconciles = new(true), 20
	for round := range 50 {
		mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
			Controller: controllers, Metrics: metricsserver.Options{BindAddress: managerstart.Off},
			GracefulShutdownTimeout: new(3 * time.Minute),
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var passes atomic.Int32
		working := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			if passes.Add(1) > int32(100*round) {
				stop()
			}
			return reconcile.Result{}, nil
		})
		busy, err := controller.New("busy", mgr, controller.Options{Reconciler: working})
		require.NoError(t, err)
		require.NoError(t, busy.Watch(source.Func(requests)))
		require.NoError(t, mgr.Start(ctx), "round %d", round)
	}
}

package grove_test

import (
	"context"
	"sync"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

// alive is held by the scenario that has killed the operator, until it runs again.
var alive sync.Mutex

// theOperatorDies kills the operator, if it is to die in this scenario, and starts it again.
func (w *world) theOperatorDies(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	t.Helper()
	return w.whileTheOperatorIsDead()(ctx, t, config)
}

// whileTheOperatorIsDead takes steps for which no operator is needed: without one, if it is to die in this scenario.
func (w *world) whileTheOperatorIsDead(steps ...types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		t.Helper()
		if w.operatorDies {
			alive.Lock()
			defer alive.Unlock()
			w.must(ctx, t, cluster.Machine.Kill(operator))
			<-cluster.Machine.Ended(operator)
			defer func() {
				if err := cluster.Machine.Start(ctx, operator); err != nil {
					t.Error(err)
				}
			}()
		}
		return allOf(steps...)(ctx, t, config)
	}
}

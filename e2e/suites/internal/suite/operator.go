package suite

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

// TheOperatorDies kills the operator, if it is to die in this story, and restarts it.
func (w *World) TheOperatorDies(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	t.Helper()
	return w.WhileTheOperatorIsDead()(ctx, t, config)
}

// WhileTheOperatorIsDead runs steps for which no operator is needed: without one, if it is to die in this story.
func (w *World) WhileTheOperatorIsDead(steps ...types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		t.Helper()
		if !w.OperatorDies {
			return AllOf(steps...)(ctx, t, config)
		}
		return w.Without(w.Operator, true, steps...)(ctx, t, config)
	}
}

// Without runs steps while a program does not run: it is killed or asked to end before, and restarted afterwards.
func (w *World) Without(program string, killed bool, steps ...types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		t.Helper()
		w.Cluster.alive.Lock()
		defer w.Cluster.alive.Unlock()
		machine := w.Cluster.Machine
		if killed {
			w.Must(ctx, t, machine.Kill(program))
			<-machine.Ended(program)
		} else {
			w.Must(ctx, t, machine.Stop(ctx, program))
		}
		defer func() {
			if err := machine.Start(ctx, program); err != nil {
				t.Error(err)
			}
		}()
		return AllOf(steps...)(ctx, t, config)
	}
}

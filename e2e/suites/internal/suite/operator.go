package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
	"sigs.k8s.io/yaml"

	config "packtree.dev/shared/api/groveconfig/v1alpha1"
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
		if ctx.Value(undisturbed{}) == nil {
			w.Cluster.alive.Lock()
			defer w.Cluster.alive.Unlock()
		}
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

// undisturbed is the key of a context within Undisturbed.
type undisturbed struct{}

// Undisturbed runs steps while no other story stops a program. Events need that: a program emits them after its status
// is written, and one that is killed in that moment never does.
func (w *World) Undisturbed(steps ...types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		t.Helper()
		w.Cluster.alive.Lock()
		defer w.Cluster.alive.Unlock()
		AllOf(steps...)(context.WithValue(ctx, undisturbed{}, true), t, config)
		return ctx
	}
}

// GroveOperatorRestartsWith gives grove-operator other levels for the default topology, as an upgrade of its chart with
// other values does.
func (w *World) GroveOperatorRestartsWith(levels ...config.TopologyLevel) types.StepFunc {
	killed := w.OperatorDies && w.Operator == GroveOperator
	return w.Without(GroveOperator, killed, func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		t.Helper()
		stored, err := w.configurationOf(ctx, GroveOperator)
		w.Must(ctx, t, err)
		configuration := map[string]any{}
		w.Must(ctx, t, yaml.Unmarshal([]byte(stored.Data["config.yaml"]), &configuration))
		configuration["topologyAwareScheduling"] = config.TopologyAwareSchedulingConfiguration{Enabled: true,
			Levels: levels}
		content, err := yaml.Marshal(configuration)
		w.Must(ctx, t, err)
		stored.Data["config.yaml"] = string(content)
		// It cannot be changed in place. The name stays, for the Deployment that mounts it.
		w.Must(ctx, t, w.Cluster.Delete(ctx, stored))
		stored.ResourceVersion, stored.UID = "", ""
		w.Must(ctx, t, w.Cluster.Create(ctx, stored))
		w.Must(ctx, t, w.Cluster.Machine.Refresh(ctx, GroveOperator))
		return ctx
	})
}

// configurationOf finds the ConfigMap of a program's chart. Its name ends in a hash of its content.
func (w *World) configurationOf(ctx context.Context, program string) (*corev1.ConfigMap, error) {
	var all corev1.ConfigMapList
	if err := w.Cluster.List(ctx, &all, client.InNamespace("packtree-system"),
		client.MatchingLabels{"app.kubernetes.io/name": program}); err != nil {
		return nil, err
	}
	for i := range all.Items {
		if strings.HasPrefix(all.Items[i].Name, program+"-config-") {
			return &all.Items[i], nil
		}
	}
	return nil, fmt.Errorf("no ConfigMap %s-config-… of %d", program, len(all.Items))
}

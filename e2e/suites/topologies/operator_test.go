package topologies_test

import (
	"context"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
	"sigs.k8s.io/yaml"

	config "packtree.dev/shared/api/groveconfig/v1alpha1"
)

const operator = "grove-operator"

// alive is held by the scenario that has stopped the operator, until it runs again.
var alive sync.Mutex

// theOperatorDies kills the operator, if it is to die in this scenario, and starts it again.
func (w *world) theOperatorDies(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	if w.operatorDies {
		w.restart(ctx, t, func() {})
	}
	return ctx
}

// theOperatorRestartsWith gives the operator other levels for the default topology, as an upgrade of its chart with other values does.
func (w *world) theOperatorRestartsWith(levels ...config.TopologyLevel) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		t.Helper()
		w.restart(ctx, t, func() {
			stored := &corev1.ConfigMap{}
			w.must(ctx, t, cluster.Get(ctx, client.ObjectKey{Namespace: "packtree-system", Name: operator + "-config"}, stored))
			configuration := map[string]any{}
			w.must(ctx, t, yaml.Unmarshal([]byte(stored.Data["config.yaml"]), &configuration))
			configuration["topologyAwareScheduling"] = config.TopologyAwareSchedulingConfiguration{Enabled: true, Levels: levels}
			content, err := yaml.Marshal(configuration)
			w.must(ctx, t, err)
			stored.Data["config.yaml"] = string(content)
			w.must(ctx, t, cluster.Update(ctx, stored))
			w.must(ctx, t, cluster.Machine.Refresh(ctx, operator))
		})
		return ctx
	}
}

// restart does something while no operator runs. It is killed if it is to die in this scenario, and else asked to end.
func (w *world) restart(ctx context.Context, t *testing.T, meanwhile func()) {
	t.Helper()
	alive.Lock()
	defer alive.Unlock()
	if w.operatorDies {
		w.must(ctx, t, cluster.Machine.Kill(operator))
		<-cluster.Machine.Ended(operator)
	} else {
		w.must(ctx, t, cluster.Machine.Stop(ctx, operator))
	}
	defer func() {
		if err := cluster.Machine.Start(ctx, operator); err != nil {
			t.Error(err)
		}
	}()
	meanwhile()
}

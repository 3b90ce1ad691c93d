package kubeframework

import (
	"context"
	"fmt"
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// Preempts reports whether a profile has kube-scheduler's own preemption. It is known once all plugins of the profile
// are.
func Preempts(filters Filters) bool {
	return slices.ContainsFunc(filters.ListPlugins().PostFilter.Enabled, func(plugin config.Plugin) bool {
		return plugin.Name == defaultpreemption.Name
	})
}

// NewPreemption returns kube-scheduler's own preemption with its default arguments, to be changed in what it takes
// for a victim.
func NewPreemption(ctx context.Context, handle fwk.Handle) (*defaultpreemption.DefaultPreemption, error) {
	configuration, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("reading the default profile: %w", err)
	}
	for _, plugin := range configuration.Profiles[0].PluginConfig {
		if plugin.Name == defaultpreemption.Name {
			return defaultpreemption.New(ctx, plugin.Args, handle,
				feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
		}
	}
	return nil, fmt.Errorf("the default profile has no arguments for %s", defaultpreemption.Name)
}

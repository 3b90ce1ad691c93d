// Package kubeframework is what we use of kube-scheduler beyond its documented plugin interface: running the filters
// of a profile for any pod, with or without a cluster, and reading nodes and pods as its own plugins account for
// them. What changes between Kubernetes minors is mended here.
package kubeframework

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Filters runs the PreFilter and Filter plugins of a profile.
type Filters interface {
	RunPreFilterPlugins(
		ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
	) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string])
	RunFilterPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status
	// ListPlugins names the plugins of the profile by extension point.
	ListPlugins() *config.Plugins
	// ProfileName is the spec.schedulerName of the profile's pods.
	ProfileName() string
}

// byRoom are the filters for what packing sees by itself: what other pods use of a node.
var byRoom = sets.New(names.NodeResourcesFit, names.NodePorts)

// byNode are the filters that look at nothing but the pod and the Node object.
var byNode = sets.New(names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity)

var byRoomOrNode = byRoom.Union(byNode)

// Changeable returns the filters of a profile that may change their mind about a node although the Node object stays
// as it is. A filter that we do not know counts as one.
func Changeable(filters Filters) []string {
	return sets.List(enabledOf(filters).Difference(byRoomOrNode))
}

// Selects reports whether the profile itself selects nodes by labels, by an affinity that its configuration adds to
// all pods.
func Selects(ctx context.Context, filters Filters) bool {
	state := Simulation()
	_, status, _ := filters.RunPreFilterPlugins(ctx, state, &corev1.Pod{})
	return enabledOf(filters).Has(names.NodeAffinity) &&
		(!status.IsSuccess() || !state.GetSkipFilterPlugins().Has(names.NodeAffinity))
}

// ByTaints runs only the filters of a cycle that look at nothing but the taints and the cordon of a node.
func ByTaints(
	ctx context.Context, filters Filters, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo,
) *fwk.Status {
	skipped := state.GetSkipFilterPlugins()
	defer state.SetSkipFilterPlugins(skipped)
	state.SetSkipFilterPlugins(enabledOf(filters).Difference(sets.New(names.NodeUnschedulable, names.TaintToleration)))
	return filters.RunFilterPlugins(ctx, state, pod, node)
}

// IgnoreRoomAndNodes is IgnoreRoom, and has the filters not look at what is in Node objects alone either.
func IgnoreRoomAndNodes(state fwk.CycleState) {
	state.SetSkipFilterPlugins(state.GetSkipFilterPlugins().Union(byRoomOrNode))
}

// IgnoreRoom has the filters of a cycle, in which PreFilter plugins have run, not look at what other pods use of a
// node. They would also hide what filters after them object to.
func IgnoreRoom(state fwk.CycleState) {
	state.SetSkipFilterPlugins(state.GetSkipFilterPlugins().Union(byRoom))
}

// FiltersOf returns the filters of the profile that a plugin's handle belongs to. The handle's interface hides the
// PreFilter runner, but what a plugin is given has always been the profile's framework itself.
func FiltersOf(handle fwk.Handle) (Filters, error) {
	filters, ok := handle.(Filters)
	if !ok {
		return nil, fmt.Errorf(
			"kube-scheduler's handle %T cannot run PreFilter plugins: this Kubernetes minor is not supported", handle)
	}
	return filters, nil
}

// simulationKey marks a cycle in which a plugin asks the filters about a pod that is not being scheduled now.
const simulationKey fwk.StateKey = "packtree.dev/simulation"

type simulation struct{}

// Clone returns the mark itself: it holds nothing.
func (r simulation) Clone() fwk.StateData { return r }

// Simulation returns the state of a cycle in which InSimulation is true.
func Simulation() fwk.CycleState {
	state := framework.NewCycleState()
	state.Write(simulationKey, simulation{})
	return state
}

// InSimulation reports whether our own plugin is being run by itself and must stay out of the way.
func InSimulation(state fwk.CycleState) bool {
	_, err := state.Read(simulationKey)
	return err == nil
}

package kubeframework

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
)

// Assumed puts pods on nodes for the time of one decision, so that the filters of a profile see them there. It changes
// the snapshot of the scheduling cycle, which has no other user meanwhile. All pods must be forgotten before the cycle
// goes on.
type Assumed struct {
	framework assumingFramework
	resources *Resources
	snapshot  assumable
	pods      []*assumedPod
	repellers repellers
	// devices is nil if the profile knows no claims for them, and sharing has pods use claims that earlier ones allocate.
	devices fwk.SharedDRAManager
	sharing fwk.PodGroupCycleState
}

// assumedPod is a pod that is assumed.
type assumedPod struct {
	info *framework.PodInfo
	// claimed is the cycle in which volumes and devices were set aside for the pod; nil if it asks for none.
	claimed fwk.CycleState
}

// assumingFramework is what a profile's framework offers beyond Filters.
type assumingFramework interface {
	Filters
	RunPreFilterExtensionAddPod(
		ctx context.Context, state fwk.CycleState, podToSchedule *corev1.Pod, podInfoToAdd fwk.PodInfo,
		nodeInfo fwk.NodeInfo,
	) *fwk.Status
	RunReservePluginsReserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status
	RunReservePluginsUnreserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string)
	SnapshotSharedLister() fwk.SharedLister
	SharedDRAManager() fwk.SharedDRAManager
}

// assumable is what kube-scheduler's own snapshot offers for this.
type assumable interface {
	fwk.SharedLister
	AssumePod(pod *framework.PodInfo) error
	ForgetPod(logger klog.Logger, pod *corev1.Pod) error
}

// NewAssumed assumes nothing yet on the nodes that the filters behind some resources see.
func NewAssumed(resources *Resources) (*Assumed, error) {
	filters := resources.filters
	runner, ok := filters.(assumingFramework)
	if !ok {
		return nil, fmt.Errorf(
			"kube-scheduler's framework %T cannot simulate: this Kubernetes minor is not supported", filters)
	}
	snapshot, ok := runner.SnapshotSharedLister().(assumable)
	if !ok {
		return nil, fmt.Errorf(
			"kube-scheduler's snapshot %T cannot be simulated on: this Kubernetes minor is not supported",
			runner.SnapshotSharedLister())
	}
	return &Assumed{
		framework: runner, resources: resources, snapshot: snapshot, devices: runner.SharedDRAManager(),
		sharing: framework.NewCycleState(),
	}, nil
}

// Node returns a node with the pods on it, assumed ones included; nil if there is no such node.
func (a *Assumed) Node(name string) fwk.NodeInfo {
	node, err := a.snapshot.NodeInfos().Get(name)
	if err != nil {
		return nil
	}
	return node
}

// Size is how many pods are assumed.
func (a *Assumed) Size() int { return len(a.pods) }

// Assume has a pod stand on the node that its spec names. State is the cycle in which the filters accepted it there;
// volumes and devices that the pod asks for are set aside in it. Rejected means that those cannot be had together
// with those of others that are assumed.
func (a *Assumed) Assume(ctx context.Context, state fwk.CycleState, pod *corev1.Pod) *fwk.Status {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("reading pod %s: %w", pod.Name, err))
	}
	next := &assumedPod{info: info}
	if state != nil && a.resources.Claims(pod) {
		status := a.framework.RunReservePluginsReserve(ctx, state, pod, pod.Spec.NodeName)
		if !status.IsSuccess() {
			a.framework.RunReservePluginsUnreserve(ctx, state, pod, pod.Spec.NodeName)
			return status
		}
		next.claimed = state
	}
	if err := a.snapshot.AssumePod(info); err != nil {
		return fwk.AsStatus(fmt.Errorf("putting pod %s on node %s: %w", pod.Name, pod.Spec.NodeName, err))
	}
	a.pods = append(a.pods, next)
	a.repellers.add(info, a.Node(pod.Spec.NodeName))
	return nil
}

// AddLast brings what the PreFilter plugins prepared for a pod in step with the pod that was assumed last. It reports
// false if the state cannot follow: what the filter for spread counts by the profile's own constraints.
func (a *Assumed) AddLast(ctx context.Context, state fwk.CycleState, pod *corev1.Pod) (bool, error) {
	spreads := a.resources.enabled().Has(names.PodTopologySpread) &&
		!state.GetSkipFilterPlugins().Has(names.PodTopologySpread)
	if len(pod.Spec.TopologySpreadConstraints) == 0 && spreads {
		return false, nil
	}
	last := a.pods[len(a.pods)-1].info
	status := a.framework.RunPreFilterExtensionAddPod(ctx, state, pod, last, a.Node(last.Pod.Spec.NodeName))
	return true, status.AsError()
}

// Nodes returns nodes as they are with the assumed pods.
func (a *Assumed) Nodes(nodes []fwk.NodeInfo) []fwk.NodeInfo {
	shown := make([]fwk.NodeInfo, 0, len(nodes))
	for _, node := range nodes {
		if found := a.Node(node.Node().Name); found != nil {
			shown = append(shown, found)
		}
	}
	return shown
}

// Unspread is the objection of a spread constraint that the filter overlooked: see Spread.
func Unspread() *fwk.Status {
	refused := fwk.NewStatus(fwk.Unschedulable, podtopologyspread.ErrReasonConstraintsNotMatch)
	return refused.WithPlugin(names.PodTopologySpread)
}

// ForgetAll takes the assumed pods off their nodes, the last one first.
func (a *Assumed) ForgetAll(ctx context.Context) error {
	for len(a.pods) > 0 {
		last := a.pods[len(a.pods)-1]
		a.pods = a.pods[:len(a.pods)-1]
		pod := last.info.Pod
		if last.claimed != nil {
			a.framework.RunReservePluginsUnreserve(ctx, last.claimed, pod, pod.Spec.NodeName)
		}
		if err := a.snapshot.ForgetPod(klog.FromContext(ctx), pod); err != nil {
			return fmt.Errorf("taking pod %s off node %s: %w", pod.Name, pod.Spec.NodeName, err)
		}
	}
	a.repellers = nil
	return nil
}

// RunPreFilterPlugins runs the profile's own.
func (a *Assumed) RunPreFilterPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	state.SetPodGroupSchedulingCycle(a.sharing)
	return a.framework.RunPreFilterPlugins(ctx, state, pod)
}

// RunFilterPlugins runs the profile's own, and what they overlook: see repellers.
func (a *Assumed) RunFilterPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo,
) *fwk.Status {
	status := a.framework.RunFilterPlugins(ctx, state, pod, node)
	if status.IsSuccess() && a.repellers.repel(pod, node.Node()) {
		refused := fwk.NewStatus(fwk.Unschedulable, interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch)
		return refused.WithPlugin(names.InterPodAffinity)
	}
	if refused := outOfReach(a.devices, pod, node.Node()); status.IsSuccess() && refused != nil {
		return refused
	}
	return status
}

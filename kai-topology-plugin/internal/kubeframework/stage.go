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

// Stage puts pods on nodes for as long as a decision takes, so that the filters of a profile see them there. It works on the
// snapshot of the scheduling cycle, which nobody else looks at meanwhile, and must be cleared before the cycle goes on.
type Stage struct {
	framework stageable
	resources *Resources
	snapshot  assumable
	cast      []*actor
	repellers repellers
}

// actor is a pod on the stage.
type actor struct {
	info *framework.PodInfo
	// claimed is the cycle in which volumes and devices were set aside for the pod; nil if it asks for none.
	claimed fwk.CycleState
}

// stageable is what a profile's framework offers beyond Filters.
type stageable interface {
	Filters
	RunPreFilterExtensionAddPod(ctx context.Context, state fwk.CycleState, podToSchedule *corev1.Pod, podInfoToAdd fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status
	RunReservePluginsReserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status
	RunReservePluginsUnreserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string)
	SnapshotSharedLister() fwk.SharedLister
}

// assumable is what kube-scheduler's own snapshot offers for this.
type assumable interface {
	fwk.SharedLister
	AssumePod(pod *framework.PodInfo) error
	ForgetPod(logger klog.Logger, pod *corev1.Pod) error
}

// StageOf returns an empty stage on the nodes that the filters behind some resources see.
func StageOf(resources *Resources) (*Stage, error) {
	filters := resources.filters
	runner, ok := filters.(stageable)
	if !ok {
		return nil, fmt.Errorf("kube-scheduler's framework %T cannot simulate: this Kubernetes minor is not supported", filters)
	}
	snapshot, ok := runner.SnapshotSharedLister().(assumable)
	if !ok {
		return nil, fmt.Errorf("kube-scheduler's snapshot %T cannot be simulated on: this Kubernetes minor is not supported", runner.SnapshotSharedLister())
	}
	return &Stage{framework: runner, resources: resources, snapshot: snapshot}, nil
}

// Node returns a node with the pods on it, those on the stage included; nil if there is no such node.
func (s *Stage) Node(name string) fwk.NodeInfo {
	node, err := s.snapshot.NodeInfos().Get(name)
	if err != nil {
		return nil
	}
	return node
}

// Size is how many pods are on the stage.
func (s *Stage) Size() int { return len(s.cast) }

// Put has a pod stand on the node that its spec names. State is the cycle in which the filters accepted it there; volumes and
// devices that the pod asks for are set aside in it. Rejected means that those cannot be had together with others' on the stage.
func (s *Stage) Put(ctx context.Context, state fwk.CycleState, pod *corev1.Pod) *fwk.Status {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("reading pod %s: %w", pod.Name, err))
	}
	entering := &actor{info: info}
	if state != nil && s.resources.Claims(pod) {
		status := s.framework.RunReservePluginsReserve(ctx, state, pod, pod.Spec.NodeName)
		if !status.IsSuccess() {
			s.framework.RunReservePluginsUnreserve(ctx, state, pod, pod.Spec.NodeName)
			return status
		}
		entering.claimed = state
	}
	if err := s.snapshot.AssumePod(info); err != nil {
		return fwk.AsStatus(fmt.Errorf("putting pod %s on node %s: %w", pod.Name, pod.Spec.NodeName, err))
	}
	s.cast = append(s.cast, entering)
	s.repellers.add(info, s.Node(pod.Spec.NodeName))
	return nil
}

// Follow brings what the PreFilter plugins prepared for a pod in step with the pod that was put last. It reports false if the state
// cannot follow: what the filter for spread counts by the profile's own constraints.
func (s *Stage) Follow(ctx context.Context, state fwk.CycleState, pod *corev1.Pod) (bool, error) {
	if len(pod.Spec.TopologySpreadConstraints) == 0 && s.resources.enabled().Has(names.PodTopologySpread) && !state.GetSkipFilterPlugins().Has(names.PodTopologySpread) {
		return false, nil
	}
	last := s.cast[len(s.cast)-1].info
	status := s.framework.RunPreFilterExtensionAddPod(ctx, state, pod, last, s.Node(last.Pod.Spec.NodeName))
	return true, status.AsError()
}

// Nodes returns nodes as they are with the pods on the stage.
func (s *Stage) Nodes(nodes []fwk.NodeInfo) []fwk.NodeInfo {
	shown := make([]fwk.NodeInfo, 0, len(nodes))
	for _, node := range nodes {
		if found := s.Node(node.Node().Name); found != nil {
			shown = append(shown, found)
		}
	}
	return shown
}

// Unspread is the objection of a spread constraint that the filter overlooked: see Spread.
func Unspread() *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable, podtopologyspread.ErrReasonConstraintsNotMatch).WithPlugin(names.PodTopologySpread)
}

// Clear takes all pods off the stage, the last one first.
func (s *Stage) Clear(ctx context.Context) error {
	for len(s.cast) > 0 {
		last := s.cast[len(s.cast)-1]
		s.cast = s.cast[:len(s.cast)-1]
		pod := last.info.Pod
		if last.claimed != nil {
			s.framework.RunReservePluginsUnreserve(ctx, last.claimed, pod, pod.Spec.NodeName)
		}
		if err := s.snapshot.ForgetPod(klog.FromContext(ctx), pod); err != nil {
			return fmt.Errorf("taking pod %s off node %s: %w", pod.Name, pod.Spec.NodeName, err)
		}
	}
	s.repellers = nil
	return nil
}

// RunPreFilterPlugins runs the profile's own.
func (s *Stage) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	return s.framework.RunPreFilterPlugins(ctx, state, pod)
}

// RunFilterPlugins runs the profile's own, and what they overlook: see repellers.
func (s *Stage) RunFilterPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	status := s.framework.RunFilterPlugins(ctx, state, pod, node)
	if status.IsSuccess() && s.repellers.repel(pod, node.Node()) {
		return fwk.NewStatus(fwk.Unschedulable, interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch).WithPlugin(names.InterPodAffinity)
	}
	return status
}

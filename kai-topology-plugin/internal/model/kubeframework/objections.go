package kubeframework

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// NotSelected is the objection of a node selector, a node affinity, or a volume or device that ties the pod to nodes.
const NotSelected = "node selector or affinity"

// objections are what the filters of kube-scheduler object to, as a noun, for sentences like "3 nodes excluded by …".
var objections = map[string]string{
	names.NodeUnschedulable: "cordon",
	names.NodeAffinity:      NotSelected,
	names.InterPodAffinity:  "pod affinity or anti-affinity",
	names.PodTopologySpread: "topology spread constraints",
}

// Objection says, as a noun, why a filter turned a node down for a pod. Of what it does not know by name it gives the
// filter's own words.
func Objection(status *fwk.Status, pod *corev1.Pod, node *corev1.Node) string {
	if status.Plugin() == names.TaintToleration {
		if taint, found := untolerated(pod, node); found {
			return "taint " + taint.ToString()
		}
	}
	if objection, known := objections[status.Plugin()]; known {
		return objection
	}
	return status.Plugin() + " (" + strings.TrimPrefix(status.Message(), "node(s) ") + ")"
}

func untolerated(pod *corev1.Pod, node *corev1.Node) (corev1.Taint, bool) {
	return corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
		helper.DoNotScheduleTaintsFilterFunc(), true)
}

// Liftable reports whether placing further pods can end an objection: a pod that another one must be near, or pods that
// level out a spread. A node without the label that such a rule reads stays excluded.
func Liftable(status *fwk.Status) bool {
	switch status.Plugin() {
	case names.InterPodAffinity:
		return status.Code() == fwk.UnschedulableAndUnresolvable
	case names.PodTopologySpread:
		return status.Code() == fwk.Unschedulable
	default:
		return false
	}
}

// RequiredAffinity returns the rules by which a pod has to be near others.
func RequiredAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return nil
	}
	return pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// RequiredAntiAffinity returns the rules by which a pod has to keep off others.
func RequiredAntiAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// ReadLabels returns the keys of the node labels by which the filters of a cycle tell nodes apart that they do not
// skip; false if they look at more than labels. Repelling are the topology keys of pods on the nodes that keep others
// away.
func ReadLabels(
	filters Filters, state fwk.CycleState, pod *corev1.Pod, repelling sets.Set[string],
) (keys []string, ok bool) {
	read := sets.New[string]()
	for name := range enabledOf(filters).Difference(state.GetSkipFilterPlugins()) {
		switch name {
		case names.InterPodAffinity:
			for _, term := range slices.Concat(RequiredAffinity(pod), RequiredAntiAffinity(pod)) {
				read.Insert(term.TopologyKey)
			}
			read = read.Union(repelling)
		case names.PodTopologySpread:
			if len(pod.Spec.TopologySpreadConstraints) == 0 {
				return nil, false // The profile has constraints of its own.
			}
			for i := range pod.Spec.TopologySpreadConstraints {
				read.Insert(pod.Spec.TopologySpreadConstraints[i].TopologyKey)
			}
		default:
			return nil, false
		}
	}
	return sets.List(read), true
}

// FilterBut runs the filters without the ones with forgiven objections, and without the ones that IgnoreRoom skips.
func FilterBut(ctx context.Context, filters interface {
	RunFilterPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status
}, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo, forgiven func(*fwk.Status) bool,
) *fwk.Status {
	skipped := state.GetSkipFilterPlugins()
	defer state.SetSkipFilterPlugins(skipped)
	IgnoreRoom(state)
	for {
		status := filters.RunFilterPlugins(ctx, state, pod, node)
		if status.IsSuccess() || !forgiven(status) || state.GetSkipFilterPlugins().Has(status.Plugin()) {
			return status
		}
		state.SetSkipFilterPlugins(state.GetSkipFilterPlugins().Union(sets.New(status.Plugin())))
	}
}

package kubeframework

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Repels reports whether a cordon or a taint of a node keeps a pod from being put there.
func Repels(node *corev1.Node, pod *corev1.Pod) bool {
	hard := func(taint *corev1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule }
	tolerated := pod.Spec.Tolerations
	_, tainted := v1helper.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, tolerated, hard, false)
	return tainted || Cordoned(node, pod)
}

// Evicts reports whether a node is about to have a pod deleted that is put there: it has a taint that evicts, and the
// pod tolerates that for some time only, if at all.
func Evicts(node *corev1.Node, pod *corev1.Pod) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		if taint.Effect != corev1.TaintEffectNoExecute {
			return false
		}
		first := slices.IndexFunc(pod.Spec.Tolerations, func(toleration corev1.Toleration) bool {
			return toleration.ToleratesTaint(klog.Background(), &taint, true)
		})
		return first < 0 || pod.Spec.Tolerations[first].TolerationSeconds != nil
	})
}

// Accepts reports whether a pod may stand on a node by what the node itself is: its labels, its taints and its cordon.
func Accepts(node *corev1.Node, pod *corev1.Pod) bool {
	if Repels(node, pod) {
		return false
	}
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && match
}

// AcceptedAlike reports whether the same nodes accept two pods.
func AcceptedAlike(a, b *corev1.Pod) bool {
	return maps.Equal(a.Spec.NodeSelector, b.Spec.NodeSelector) &&
		equality.Semantic.DeepEqual(a.Spec.Affinity, b.Spec.Affinity) && ToleratesAlike(a, b)
}

// ToleratesAlike reports whether two pods have the same tolerations.
func ToleratesAlike(a, b *corev1.Pod) bool {
	return equality.Semantic.DeepEqual(a.Spec.Tolerations, b.Spec.Tolerations)
}

// Cordoned reports whether a node is cordoned, and a pod does not tolerate that.
func Cordoned(node *corev1.Node, pod *corev1.Pod) bool {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return node.Spec.Unschedulable &&
		!v1helper.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, &cordon, true)
}

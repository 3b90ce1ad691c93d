package kubeframework

import (
	"maps"

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
		equality.Semantic.DeepEqual(a.Spec.Affinity, b.Spec.Affinity) &&
		equality.Semantic.DeepEqual(a.Spec.Tolerations, b.Spec.Tolerations)
}

// Cordoned reports whether a node is cordoned, and a pod does not tolerate that.
func Cordoned(node *corev1.Node, pod *corev1.Pod) bool {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return node.Spec.Unschedulable &&
		!v1helper.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, &cordon, true)
}

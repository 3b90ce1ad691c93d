package kubeframework

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
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

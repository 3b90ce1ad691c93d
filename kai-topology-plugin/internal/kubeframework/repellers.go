package kubeframework

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

const nameOfRepelling = names.InterPodAffinity

// repellers are pods with required anti-affinity that were put on a snapshot. The snapshot lists the nodes that have such pods
// once, when it is taken, so that the filter would overlook those that came later.
type repellers []repeller

type repeller struct {
	pod  *corev1.Pod
	term fwk.AffinityTerm
	// value is that of the node's label under the term's topology key.
	value string
}

func (r *repellers) add(info *framework.PodInfo, node fwk.NodeInfo) {
	if node == nil {
		return
	}
	for _, term := range info.GetRequiredAntiAffinityTerms() {
		if value, ok := node.Node().Labels[term.TopologyKey]; ok {
			*r = append(*r, repeller{pod: info.Pod, term: term, value: value})
		}
	}
}

// repel reports whether any of them keeps a pod off a node. Of the labels of a namespace only the one that it always has is
// known here, its name.
func (r repellers) repel(pod *corev1.Pod, node *corev1.Node) bool {
	if len(r) == 0 {
		return false
	}
	namespace := labels.Set{corev1.LabelMetadataName: pod.Namespace}
	for i := range r {
		value, ok := node.Labels[r[i].term.TopologyKey]
		if ok && value == r[i].value && r[i].term.Matches(pod, namespace) {
			return true
		}
	}
	return false
}

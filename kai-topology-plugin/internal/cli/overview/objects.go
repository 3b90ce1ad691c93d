package overview

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
)

// Node is a node with all that it has.
type Node struct {
	Name     string `json:"name"`
	Cordoned bool   `json:"cordoned,omitempty"`
	NotReady bool   `json:"notReady,omitempty"`
	// Taints are written as by kubectl, key=value:effect, without the one of a cordon.
	Taints []string `json:"taints,omitempty"`
	// Resources are the resources that the node has, by name.
	Resources map[string]Stock `json:"resources"`
}

// Stock is how much of a resource of a node is used.
type Stock struct {
	Used  float64 `json:"used"`
	Total float64 `json:"total"`
}

// Pod is a pod that uses a node or waits for one.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Node is empty while the pod waits.
	Node string `json:"node,omitempty"`
	// Gang is the PodGroup in the same namespace, and SubGroup its leaf; both are empty for pods without a gang.
	Gang     string `json:"gang,omitempty"`
	SubGroup string `json:"subGroup,omitempty"`
	// Amount is what the pod requests of the resource of the overview.
	Amount float64 `json:"amount"`
	// Scheduler is the one that the pod names, where it is in no gang.
	Scheduler string `json:"scheduler,omitempty"`
	// Gated pods wait for their scheduling gates, Leaving ones are being deleted.
	Gated   bool `json:"gated,omitempty"`
	Leaving bool `json:"leaving,omitempty"`
}

func nodesOf(cluster *inventory.Inventory) []Node {
	on := cluster.OnNodes()
	result := make([]Node, 0, len(cluster.Nodes))
	for _, node := range cluster.Nodes {
		result = append(result, nodeOf(node, nodes.Used(on[node.Name])))
	}
	slices.SortFunc(result, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return result
}

func nodeOf(node *corev1.Node, used corev1.ResourceList) Node {
	seen := Node{
		Name: node.Name, Cordoned: node.Spec.Unschedulable, NotReady: !nodes.Ready(node),
		Resources: map[string]Stock{},
	}
	for i := range node.Spec.Taints {
		if taint := &node.Spec.Taints[i]; taint.Key != corev1.TaintNodeUnschedulable {
			seen.Taints = append(seen.Taints, taint.ToString())
		}
	}
	for name, amount := range node.Status.Allocatable {
		if name == corev1.ResourcePods || amount.IsZero() {
			continue
		}
		seen.Resources[string(name)] = Stock{Used: nodes.Amount(used[name]), Total: nodes.Amount(amount)}
	}
	return seen
}

func pods(cluster *inventory.Inventory, resource corev1.ResourceName, asked Question) []Pod {
	result := make([]Pod, 0, len(cluster.Pods))
	for _, pod := range cluster.Pods {
		if key, _ := gang.KeyOf(pod); !podutil.IsPodTerminal(pod) && asked.shows(key) {
			result = append(result, podOf(pod, resource))
		}
	}
	slices.SortFunc(result, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return result
}

func podOf(pod *corev1.Pod, resource corev1.ResourceName) Pod {
	key, member := gang.KeyOf(pod)
	requested := nodes.Requests(pod)[resource]
	seen := Pod{
		Namespace: pod.Namespace, Name: pod.Name, Node: pod.Spec.NodeName, Gang: key.Name,
		Amount: nodes.Amount(requested),
		Gated:  len(pod.Spec.SchedulingGates) > 0 && pod.Spec.NodeName == "", Leaving: pod.DeletionTimestamp != nil,
	}
	if member {
		seen.SubGroup = gang.LeafOf(pod)
	} else {
		seen.Scheduler = pod.Spec.SchedulerName
	}
	return seen
}

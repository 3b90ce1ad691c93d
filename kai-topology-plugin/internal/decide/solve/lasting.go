package solve

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// evicting names the nodes that take a pod which waits and evict it later. Where a pod stands that has a say in where
// the gang goes, the node stays: its domain counts. Filters let a pod on a node with a NoExecute taint that it
// tolerates for some time only.
func evicting(request Request) (names []string) {
	var asking []*corev1.Pod // One for each set of tolerations.
	counted, verdicts := counting(request.Gang), map[string]bool{}
	for _, name := range request.View.Evicting() {
		node, found := request.View.Find(name)
		if !found || counted.Has(name) {
			continue
		}
		if asking == nil {
			asking = unlike(request.Gang.Pending)
		}
		evicts, known := verdicts[node.Taints]
		if !known {
			evicts = slices.ContainsFunc(asking, func(pod *corev1.Pod) bool {
				return !kubeframework.Repels(node.Info.Node(), pod) && kubeframework.Evicts(node.Info.Node(), pod)
			})
			verdicts[node.Taints] = evicts
		}
		if evicts {
			names = append(names, name)
		}
	}
	return names
}

// unlike returns a pod for each list of tolerations.
func unlike(pods []*corev1.Pod) (found []*corev1.Pod) {
	for _, pod := range pods {
		same := func(other *corev1.Pod) bool { return kubeframework.ToleratesAlike(pod, other) }
		if !slices.ContainsFunc(found, same) {
			found = append(found, pod)
		}
	}
	return found
}

// counting names the nodes on which pods stand, or will, that a gang has to be with or apart from.
func counting(g *gang.Gang) sets.Set[string] {
	nodes := sets.New(gang.NodesOf(g.Standing)...)
	if g.Shared != nil {
		for _, other := range g.Shared.Others {
			nodes.Insert(other.Nodes...)
		}
	}
	for i := range g.Relations {
		for _, other := range g.Relations[i].Others {
			nodes.Insert(slices.Concat(other.Nodes...)...)
		}
	}
	return nodes
}

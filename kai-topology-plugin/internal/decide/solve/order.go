package solve

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/ranks"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/packing"
)

// indexLabels are labels by which controllers number the pods of a leaf from 0 on. The first that a pod has counts.
var indexLabels = []string{
	grove.LabelPodIndex, "leaderworkerset.sigs.k8s.io/worker-index", "training.kubeflow.org/replica-index",
	batchv1.JobCompletionIndexAnnotation, appsv1.PodIndexLabel,
}

// indexOf returns the number of a pod among the pods of its leaf, and false if it has none.
func indexOf(pod *corev1.Pod) (int, bool) {
	for _, label := range indexLabels {
		if written, labelled := pod.Labels[label]; labelled {
			index, err := strconv.Atoi(written)
			return index, err == nil && index >= 0
		}
	}
	return 0, false
}

// pathOf returns the domains of a node in a topology, and the node's name at last.
type pathOf func(topology, node string) []string

// ordered exchanges the nodes of alike pods within each leaf, so that pods with neighbouring indices are neighbours in
// the leaf's topology. nodes has the node of each placed pod, and keeps its keys. Leaves without a topology, or with
// pods that have no index or a duplicate one, stay as they are.
func ordered(root *packing.Group, g *gang.Gang, nodes map[string]string, path pathOf) {
	if !numbered(g.Pending, nodes) && !numbered(g.Standing, nodes) {
		return
	}
	members := map[string][]*corev1.Pod{}
	for _, pod := range slices.Concat(g.Pending, g.Standing) {
		members[gang.LeafOf(pod)] = append(members[gang.LeafOf(pod)], pod)
	}
	topology := ""
	if g.Shared != nil {
		topology = g.Shared.Constraint.Topology
	}
	orderGroup(root, topology, members, nodes, path)
}

// numbered reports whether any leaf may have an index for each of its pods, as the first one that has a node does. Most
// gangs have none, and to find that out takes less time than to look at all labels of all pods.
func numbered(pods []*corev1.Pod, nodes map[string]string) bool {
	unnumbered, some := "", false
	for _, pod := range pods {
		leaf := gang.LeafOf(pod)
		if some && leaf == unnumbered || nodes[pod.Name] == "" && !gang.Standing(pod) {
			continue
		}
		if _, ok := indexOf(pod); ok {
			return true
		}
		unnumbered, some = leaf, true
	}
	return false
}

func orderGroup(
	group *packing.Group, topology string, members map[string][]*corev1.Pod, nodes map[string]string, path pathOf,
) {
	if group.Constraint.Topology != "" {
		topology = group.Constraint.Topology
	}
	for i := range group.Children {
		orderGroup(&group.Children[i], topology, members, nodes, path)
	}
	if len(group.Children) > 0 || len(group.Pending) == 0 || topology == "" {
		return
	}
	pathIn := func(node string) []string { return path(topology, node) }
	for _, pod := range ranks.Arrange(indexed(group, members[group.Name], nodes, pathIn)) {
		if pod.Kind != "" {
			nodes[pod.Name] = pod.Path[len(pod.Path)-1]
		}
	}
}

// indexed are the pods of a leaf that have a node, and none if one of them has no index of its own.
func indexed(
	leaf *packing.Group, members []*corev1.Pod, nodes map[string]string, path func(node string) []string,
) []ranks.Pod {
	kinds := map[string]string{}
	for _, pods := range leaf.Pending {
		for _, name := range pods.Names {
			kinds[name] = pods.Shape.Key
		}
	}
	var all []ranks.Pod
	taken := map[int]bool{}
	for _, pod := range members {
		node, kind := nodes[pod.Name], kinds[pod.Name]
		if gang.Standing(pod) {
			node, kind = pod.Spec.NodeName, ""
		}
		if node == "" {
			continue
		}
		index, ok := indexOf(pod)
		if !ok || taken[index] {
			return nil
		}
		taken[index] = true
		all = append(all, ranks.Pod{Name: pod.Name, Index: index, Kind: kind, Path: path(node)})
	}
	return all
}

package overtaking

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// ClaimOf is what a gang waits for that does not fit. Levels has the node label keys of a Topology, the broadest first.
func ClaimOf(assembled *gang.Gang, answer *decision.Answer, levels func(topology string) []string) gangstate.Claim {
	constraint := sharedOrOwn(assembled)
	keys := levels(constraint.Topology)
	return gangstate.Claim{
		Rank:       assembled.Rank(),
		Ground:     gangstate.Ground{Levels: keys[:slices.Index(keys, constraint.RequiredTopologyLevel)+1]},
		Scarce:     scarce(assembled, answer),
		Generation: assembled.PodGroup.Generation,
	}
}

// sharedOrOwn is the constraint that says where the gang could stand as a whole: its own, or that which it shares
// with others.
func sharedOrOwn(assembled *gang.Gang) scheduling.TopologyConstraint {
	if root := assembled.Tree.Root.Constraint; root.RequiredTopologyLevel != "" || assembled.Shared == nil {
		return root
	}
	return assembled.Shared.Constraint
}

// scarce returns the resources that the gang is short of: those that the answer names, else all that its pods ask for.
func scarce(assembled *gang.Gang, answer *decision.Answer) []string {
	var names []string
	for i := range answer.Explanations {
		for _, short := range answer.Explanations[i].Short {
			names = append(names, short.Resource)
		}
	}
	if len(names) == 0 {
		for _, pod := range assembled.Pending {
			names = append(names, askedFor(pod)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// askedFor returns the resources that a pod asks for, but for the place that every pod takes.
func askedFor(pod *corev1.Pod) []string {
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return nil // Nothing is planned for such a pod.
	}
	var names []string
	for resource, amount := range requests {
		if amount > 0 && resource != kubeframework.ResourcePods {
			names = append(names, resource)
		}
	}
	return names
}

// Asks returns whether any of the pods asks for a resource. Every pod takes a place.
func Asks(pods []*corev1.Pod) func(resource string) bool {
	asked := map[string]bool{kubeframework.ResourcePods: len(pods) > 0}
	for _, pod := range pods {
		for _, resource := range askedFor(pod) {
			asked[resource] = true
		}
	}
	return func(resource string) bool { return asked[resource] }
}

// TakingOf is what a gang takes that gets nodes, of those given.
func TakingOf(assembled *gang.Gang, answer *decision.Answer, nodes []fwk.NodeInfo) gangstate.Taking {
	taken := map[string]bool{}
	for _, node := range answer.Nodes {
		taken[node] = true
	}
	taking := gangstate.Taking{Rank: assembled.Rank(), Asks: Asks(assembled.Pending)}
	for _, node := range nodes {
		if taken[node.Node().Name] {
			taking.Nodes = append(taking.Nodes, node.Node().Labels)
		}
	}
	return taking
}

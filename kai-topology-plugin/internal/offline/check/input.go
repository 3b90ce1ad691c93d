package check

import (
	"fmt"
	"maps"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// inputOf puts a request about one gang into the words of package certificate. What is free on the nodes is counted
// here, from their pods.
func inputOf(session *solve.Session, q solve.Request) (*certificate.Input, error) {
	levels := map[string][]string{}
	for _, name := range q.Gang.Topologies() {
		levels[name] = nodes.Levels(q.Topologies[name])
	}
	ports := eligibility.HostPortsOf(q.Gang.Pending)
	offers := make([]certificate.Node, 0, len(q.Nodes))
	for _, node := range q.Nodes {
		free := freeOn(node, ports, q.Everywhere)
		for _, pod := range q.Reserved[node.Node().Name] {
			if err := takeOff(free, pod, ports); err != nil {
				return nil, err
			}
		}
		maps.Copy(free, session.ZoneRoom(node, q.Reserved[node.Node().Name]))
		domains := map[string][]string{}
		for topology, keys := range levels {
			domains[topology] = nodes.Path(node.Node().Labels, keys)
		}
		offers = append(offers, certificate.Node{Name: node.Node().Name, Free: free, Domains: domains})
	}
	return packing.InputOf(session.Packing, levels, offers), nil
}

// takeOff keeps room for a pod that will stand on a node.
func takeOff(free map[string]int64, pod *corev1.Pod, ports eligibility.HostPorts) error {
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return fmt.Errorf("reading the requests of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	for resource, amount := range requests {
		free[resource] -= amount
	}
	for _, port := range ports.Taken(eligibility.UsedBy(pod)) {
		free[port]--
	}
	return nil
}

// freeOn is what pods may still take of a node, each host port once.
func freeOn(node fwk.NodeInfo, ports eligibility.HostPorts, everywhere packing.Resources) map[string]int64 {
	free := kubeframework.Free(node)
	for _, port := range ports.Resources() {
		free[port]++
	}
	for _, port := range ports.Taken(node.GetUsedPorts()) {
		free[port]--
	}
	for resource, amount := range everywhere {
		free[resource] += amount
	}
	return free
}

// standing are the nodes of each leaf's pods, running and newly assigned.
func standing(g *gang.Gang, assignments map[string]string) map[string][]string {
	nodes := map[string][]string{}
	for _, pods := range [][]*corev1.Pod{g.Standing, g.Pending} {
		for _, pod := range pods {
			node := pod.Spec.NodeName
			if node == "" {
				node = assignments[pod.Name]
			}
			if node != "" {
				nodes[gang.LeafOf(pod)] = append(nodes[gang.LeafOf(pod)], node)
			}
		}
	}
	return nodes
}

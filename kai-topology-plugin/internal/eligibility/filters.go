package eligibility

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// excluded runs the filters for a pod on every node and returns the reasons of those that turned it down.
func (s *Shapes) excluded(ctx context.Context, pod *corev1.Pod) (map[string]string, error) {
	reasons := map[string]string{}
	state := kubeframework.Rehearsal()
	narrowed, status, _ := s.filters.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return nil, status.AsError()
		}
		for _, node := range s.nodes {
			reasons[node.Node().Name] = kubeframework.Objection(status, pod, node.Node())
		}
		return reasons, nil
	}
	for _, node := range s.nodes {
		name := node.Node().Name
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			reasons[name] = kubeframework.NotSelected
			continue
		}
		status := s.filters.RunFilterPlugins(ctx, state, pod, node)
		switch {
		case status.IsSuccess() || kubeframework.LacksRoom(status):
		case status.IsRejected():
			reasons[name] = kubeframework.Objection(status, pod, node.Node())
		default:
			return nil, fmt.Errorf("on node %s: %w", name, status.AsError())
		}
	}
	return reasons, nil
}

// hostPortPrefix marks the resources by which packing keeps pods with one host port off one node: each node offers one of
// each, and the filters see to it that nobody outside the gang has it.
const hostPortPrefix = "host port "

// HostPorts returns, as resources, the host ports that any of the pods asks for.
func HostPorts(pods []*corev1.Pod) sets.Set[string] {
	all := sets.New[string]()
	for _, pod := range pods {
		all = all.Union(hostPorts(pod))
	}
	return all
}

// hostPorts tells ports apart by protocol and number. Two pods with one port on two addresses of a node are told to avoid
// each other too, which they need not, but nobody binds so.
func hostPorts(pod *corev1.Pod) sets.Set[string] {
	ports := sets.New[string]()
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.HostPort > 0 {
				protocol := strings.ToUpper(string(port.Protocol))
				if protocol == "" {
					protocol = string(corev1.ProtocolTCP)
				}
				ports.Insert(fmt.Sprintf("%s%d/%s", hostPortPrefix, port.HostPort, protocol))
			}
		}
	}
	return ports
}

package eligibility

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// HostPorts are the host ports that the pods of one decision request. To packing each is a resource with one unit on
// every node, so that two pods with the same host port do not share a node.
type HostPorts []hostPort

// hostPort is a port on one address of a node, or on all of them: anyAddress.
type hostPort struct {
	address, protocol string
	port              int32
}

const anyAddress = fwk.DefaultBindAllHostIP

// HostPortsOf returns the host ports that any of the pods asks for.
func HostPortsOf(pods []*corev1.Pod) HostPorts {
	var all HostPorts
	for _, pod := range pods {
		for _, port := range hostPorts(pod) {
			if !slices.Contains(all, port) {
				all = append(all, port)
			}
		}
	}
	return all
}

func hostPorts(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	for _, port := range util.GetHostPorts(pod) {
		asked := hostPort{address: port.HostIP, protocol: string(port.Protocol), port: port.HostPort}
		if asked.address == "" {
			asked.address = anyAddress
		}
		if asked.protocol == "" {
			asked.protocol = string(corev1.ProtocolTCP)
		}
		ports = append(ports, asked)
	}
	return ports
}

// String is the name of the port as a resource.
func (p hostPort) String() string {
	name := fmt.Sprintf("host port %d/%s", p.port, p.protocol)
	if p.address != anyAddress {
		name += " on " + p.address
	}
	return name
}

// Resources are the names of all the ports.
func (h HostPorts) Resources() []string {
	all := make([]string, len(h))
	for i, port := range h {
		all[i] = port.String()
	}
	return all
}

// Asked returns the ports, as resources, that a pod asks for. A port on all addresses of a node is the same port on
// each address that another pod of the decision names.
func (h HostPorts) Asked(pod *corev1.Pod) []string {
	if len(h) == 0 {
		return nil
	}
	var asked []string
	own := hostPorts(pod)
	for _, port := range h {
		onAny := port
		onAny.address = anyAddress
		if slices.Contains(own, port) || slices.Contains(own, onAny) {
			asked = append(asked, port.String())
		}
	}
	return asked
}

// Taken returns the ports, as resources, that pods with these ports keep others from having.
func (h HostPorts) Taken(used fwk.HostPortInfo) []string {
	if len(used) == 0 {
		return nil
	}
	var taken []string
	for _, port := range h {
		if used.CheckConflict(port.address, port.protocol, port.port) {
			taken = append(taken, port.String())
		}
	}
	return taken
}

// UsedBy returns the ports of a pod in the words of a node.
func UsedBy(pod *corev1.Pod) fwk.HostPortInfo {
	used := fwk.HostPortInfo{}
	for _, port := range hostPorts(pod) {
		used.Add(port.address, port.protocol, port.port)
	}
	return used
}

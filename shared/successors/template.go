package successors

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TemplateOf returns the fields that decide where a pod can be placed, beside volumes and device claims: its labels,
// and the fields of its spec that filters of a scheduler read. So the question stays short, and a change of any other
// field does not change it.
func TemplateOf(pod *corev1.Pod) corev1.PodTemplateSpec {
	spec := &pod.Spec
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels},
		Spec: corev1.PodSpec{
			Containers: containersOf(spec, spec.Containers), InitContainers: containersOf(spec, spec.InitContainers),
			Resources: spec.Resources, Overhead: spec.Overhead,
			NodeSelector: spec.NodeSelector, Affinity: spec.Affinity, Tolerations: spec.Tolerations,
			TopologySpreadConstraints: spec.TopologySpreadConstraints,
			PreemptionPolicy:          spec.PreemptionPolicy, PriorityClassName: spec.PriorityClassName,
			SchedulerName: spec.SchedulerName, HostNetwork: spec.HostNetwork,
		},
	}
}

func containersOf(spec *corev1.PodSpec, containers []corev1.Container) []corev1.Container {
	var pruned []corev1.Container
	for i := range containers {
		container := &containers[i]
		pruned = append(pruned, corev1.Container{
			Name: container.Name, RestartPolicy: container.RestartPolicy, Ports: hostPortsOf(spec, container),
			Resources: corev1.ResourceRequirements{
				Requests: requestsOf(container.Resources),
			},
		})
	}
	return pruned
}

// requestsOf are the requests as the API server completes them: a limit without a request is a request too.
func requestsOf(resources corev1.ResourceRequirements) corev1.ResourceList {
	requests := resources.Requests.DeepCopy()
	for name, limit := range resources.Limits {
		if _, requested := requests[name]; !requested {
			if requests == nil {
				requests = corev1.ResourceList{}
			}
			requests[name] = limit
		}
	}
	return requests
}

// hostPortsOf are the ports of the node that a container uses: with the node's network all its ports.
func hostPortsOf(spec *corev1.PodSpec, container *corev1.Container) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for _, port := range container.Ports {
		if spec.HostNetwork && port.HostPort == 0 {
			port.HostPort = port.ContainerPort
		}
		if port.HostPort != 0 {
			ports = append(ports, corev1.ContainerPort{
				ContainerPort: port.ContainerPort, HostPort: port.HostPort, HostIP: port.HostIP,
				Protocol: port.Protocol,
			})
		}
	}
	return ports
}

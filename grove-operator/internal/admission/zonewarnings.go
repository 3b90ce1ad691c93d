package admission

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/devices"
)

// zoneDoubts are the reasons for which pods that require one NUMA zone may not get it: a kubelet chooses the zone for
// each pod by itself, and for some pods none.
func zoneDoubts(place place) []string {
	var reasons, idle []string
	for i := range place.cliques {
		if clique := &place.cliques[i]; !aligned(&clique.Spec.PodSpec) {
			idle = append(idle, clique.Name)
		}
	}
	if len(idle) > 0 {
		reasons = append(reasons, "a kubelet takes from one NUMA zone the devices of device plugins, and whole CPUs of "+
			"Guaranteed pods: neither is asked for by "+strings.Join(idle, ", "))
	}
	if place.pods > 1 {
		reasons = append(reasons, fmt.Sprintf("the kubelet chooses the NUMA zone pod by pod, so that one zone for all "+
			"%d pods is a prediction: see docs/guides/numa-zones.md", place.pods))
	}
	return reasons
}

// aligned reports whether pods ask for anything that a kubelet takes from one NUMA zone. It takes no CPUs by the
// resources of the pod as a whole.
func aligned(spec *corev1.PodSpec) bool {
	guaranteed, whole := true, false
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		limits, requests := container.Resources.Limits, container.Resources.Requests
		for name, limit := range limits {
			if devices.Is(name) && !limit.IsZero() {
				return true
			}
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, request := limits[name], limits[name]
			if own, ok := requests[name]; ok {
				request = own
			}
			guaranteed = guaranteed && !limit.IsZero() && request.Equal(limit)
		}
		cpus := limits.Cpu().MilliValue()
		whole = whole || cpus > 0 && cpus%1000 == 0
	}
	return guaranteed && whole && spec.Resources == nil
}

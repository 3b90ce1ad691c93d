package place

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/nodes"
)

// utilisation says how much of a node its pods use: its devices if it has any, else its CPUs.
func utilisation(node *corev1.Node, pods []*corev1.Pod) string {
	used, shown := nodes.Used(pods), []string{}
	for _, name := range interesting(node.Status.Allocatable) {
		amount, offered := used[name], node.Status.Allocatable[name]
		shown = append(shown, fmt.Sprintf("%s %s/%s", nodes.ShortName(string(name)), amount.String(), offered.String()))
	}
	return strings.Join(shown, ", ")
}

func interesting(offered corev1.ResourceList) []corev1.ResourceName {
	var devices []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if nodes.IsDevice(name) {
			devices = append(devices, name)
		}
	}
	if len(devices) == 0 {
		return []corev1.ResourceName{corev1.ResourceCPU}
	}
	return devices
}

package place

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// utilisation says how much of a node its pods use: its devices if it has any, else its CPUs.
func utilisation(node *corev1.Node, pods []*corev1.Pod) string {
	used := corev1.ResourceList{}
	for _, pod := range pods {
		for name, amount := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			sum := used[name]
			sum.Add(amount)
			used[name] = sum
		}
	}
	var shown []string
	for _, name := range interesting(node.Status.Allocatable) {
		amount, offered := used[name], node.Status.Allocatable[name]
		shown = append(shown, fmt.Sprintf("%s %s/%s", shortName(string(name)), amount.String(), offered.String()))
	}
	return strings.Join(shown, ", ")
}

func interesting(offered corev1.ResourceList) []corev1.ResourceName {
	var devices []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if strings.Contains(string(name), "/") && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			devices = append(devices, name)
		}
	}
	if len(devices) == 0 {
		return []corev1.ResourceName{corev1.ResourceCPU}
	}
	return devices
}

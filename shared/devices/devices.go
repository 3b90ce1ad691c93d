// Package devices says which resources are devices.
package devices

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Is reports whether a device plugin counts a resource, such as nvidia.com/gpu.
func Is(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

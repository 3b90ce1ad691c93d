package nodes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/podgrouptree"
)

// Levels returns the levels of a Topology that node labels distinguish, broadest first.
func Levels(topology *kai.Topology) []string { return podgrouptree.HierarchyOf(topology).NodeLabels() }

// LevelName is what people call a level: the last part of the label key, and host for the host.
func LevelName(key string) string {
	if key == corev1.LabelHostname {
		return "host"
	}
	return ShortName(key)
}

// ShortName is the last part of a label key or of a resource: rack of topology/rack.
func ShortName(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// Values returns a text that is equal for nodes with the same values of labels.
func Values(node *corev1.Node, keys []string) string {
	values := make([]string, len(keys))
	for i, key := range keys {
		value, ok := node.Labels[key]
		if values[i] = value; !ok {
			values[i] = "\x01"
		}
	}
	return strings.Join(values, "\x00")
}

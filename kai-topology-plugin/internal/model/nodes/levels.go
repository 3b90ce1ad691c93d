package nodes

import (
	"strings"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/podgrouptree"
)

// Levels returns the levels of a Topology that node labels distinguish, broadest first.
func Levels(topology *kai.Topology) []string { return podgrouptree.HierarchyOf(topology).NodeLabels() }

// ShortName is the last part of a label key or of a resource: rack of topology/rack.
func ShortName(key string) string { return key[strings.LastIndex(key, "/")+1:] }

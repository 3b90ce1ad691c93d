package nodes

import (
	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/podgrouptree"
)

// Levels returns the levels of a Topology that node labels distinguish, broadest first.
func Levels(topology *kai.Topology) []string { return podgrouptree.HierarchyOf(topology).NodeLabels() }

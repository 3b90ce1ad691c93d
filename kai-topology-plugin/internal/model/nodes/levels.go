package nodes

import kai "packtree.dev/shared/api/kai/v1alpha1"

// Levels returns the levels of a Topology, broadest first.
func Levels(topology *kai.Topology) []string {
	levels := make([]string, len(topology.Spec.Levels))
	for i, level := range topology.Spec.Levels {
		levels[i] = level.NodeLabel
	}
	return levels
}

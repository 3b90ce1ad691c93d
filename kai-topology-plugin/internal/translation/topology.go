// Package translation puts gangs and topologies into the words of the packing engine. It decides nothing.
package translation

import kai "packtree.dev/shared/api/kai/v1alpha1"

// LevelsOf returns the levels of a Topology, broadest first.
func LevelsOf(topology *kai.Topology) []string {
	levels := make([]string, len(topology.Spec.Levels))
	for i, level := range topology.Spec.Levels {
		levels[i] = level.NodeLabel
	}
	return levels
}

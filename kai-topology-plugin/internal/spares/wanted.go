// Package spares says which nodes of a cluster have to stay empty, so that gangs which lose pods can be mended, and for
// whom they are closed. A spare is no node that somebody chose: so many of the empty nodes of a domain have to stay
// empty, be it these or those.
package spares

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/spares"
)

// Wanted is how many spares each domain of a level of a Topology is to have.
type Wanted struct {
	Topology string
	// Levels are the node label keys of the Topology from the broadest to that of the level.
	Levels []string
	// Below is that of the next narrower level, empty if there is none.
	Below string
	Nodes int
	// YieldBelow is the priority from which on pods are not to stand on spares.
	YieldBelow int32
}

// Level is the node label key of the level.
func (w Wanted) Level() string { return w.Levels[len(w.Levels)-1] }

// Of returns what a Topology says of spares. If anything of that is wrong there are none.
func Of(topology *kai.Topology) ([]Wanted, *field.Error) {
	levels := podgrouptree.HierarchyOf(topology)
	said, wrong := spares.Parse(topology.Annotations, levels)
	keys := levels.Keys()
	var all []Wanted
	for _, one := range said {
		if one.Nodes == 0 {
			continue
		}
		at := slices.Index(keys, one.Level)
		wanted := Wanted{Topology: topology.Name, Levels: keys[:at+1], Nodes: one.Nodes, YieldBelow: one.YieldBelow}
		if at+1 < len(keys) {
			wanted.Below = keys[at+1]
		}
		all = append(all, wanted)
	}
	slices.SortFunc(all, func(a, b Wanted) int { return cmp.Compare(len(a.Levels), len(b.Levels)) })
	return all, wrong
}

// OfAll returns what Topologies say of spares, by the name of the Topology. Those that are wrong want none.
func OfAll(topologies map[string]*kai.Topology) (all []Wanted) {
	for _, name := range slices.Sorted(maps.Keys(topologies)) {
		wanted, _ := Of(topologies[name])
		all = append(all, wanted...)
	}
	return all
}

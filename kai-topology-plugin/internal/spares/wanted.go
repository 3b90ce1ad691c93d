// Package spares says which nodes of a cluster have to stay empty, so that gangs which lose pods can be mended, and for whom
// they are closed. A spare is no node that somebody chose: so many of the empty nodes of a domain have to stay empty, be it
// these or those.
package spares

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/manifests"
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

// entry is an element of kai.AnnotationSpares.
type entry struct {
	Level      string `json:"level"`
	Nodes      int    `json:"nodes"`
	YieldBelow int32  `json:"yieldBelow"`
}

// Of returns what a Topology says of spares. If anything of that is wrong there are none.
func Of(topology *kai.Topology) ([]Wanted, *field.Error) {
	written, said := topology.Annotations[kai.AnnotationSpares]
	if !said {
		return nil, nil
	}
	path := field.NewPath("metadata", "annotations").Key(kai.AnnotationSpares)
	var read []entry
	if problems := manifests.DecodeStrict([]byte(written), &read); len(problems) > 0 {
		return nil, field.Invalid(path, written, `must be a JSON list such as [{"level":"topology/rack","nodes":2}]: `+
			strings.TrimPrefix(problems[0].Path+": ", ": ")+problems[0].Reason)
	}
	levels := make([]string, len(topology.Spec.Levels))
	for i, level := range topology.Spec.Levels {
		levels[i] = level.NodeLabel
	}
	var all []Wanted
	for _, one := range read {
		at := slices.Index(levels, one.Level)
		switch {
		case at < 0:
			return nil, field.Invalid(path, one.Level, "level must be one of the Topology's levels")
		case one.Nodes < 0:
			return nil, field.Invalid(path, one.Nodes, "nodes must be at least 0")
		case slices.ContainsFunc(all, func(other Wanted) bool { return other.Level() == one.Level }):
			return nil, field.Duplicate(path, one.Level)
		}
		wanted := Wanted{Topology: topology.Name, Levels: levels[:at+1], Nodes: one.Nodes, YieldBelow: one.YieldBelow}
		if at+1 < len(levels) {
			wanted.Below = levels[at+1]
		}
		all = append(all, wanted)
	}
	slices.SortStableFunc(all, func(a, b Wanted) int { return cmp.Compare(len(a.Levels), len(b.Levels)) })
	return slices.DeleteFunc(all, func(w Wanted) bool { return w.Nodes == 0 }), nil
}

// OfAll returns what Topologies say of spares, by the name of the Topology. Those that are wrong want none.
func OfAll(topologies map[string]*kai.Topology) (all []Wanted) {
	for _, name := range slices.Sorted(maps.Keys(topologies)) {
		wanted, _ := Of(topologies[name])
		all = append(all, wanted...)
	}
	return all
}

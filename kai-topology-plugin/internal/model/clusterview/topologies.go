package clusterview

import "fmt"

// maxTopologies is how many topologies the cluster keeps beyond the ones that a decision names: each costs a few bytes
// a node, and each change of a node goes into all of them.
const maxTopologies = 16

// topologies are the topologies that the cluster knows, with the last decision that named them.
type topologies struct {
	named    map[string]int
	decision int
}

// know has the cluster know these topologies, by name, as these levels.
func (v *View) know(levels map[string][]string) error {
	t := &v.grown
	t.decision++
	if t.named == nil {
		t.named = map[string]int{}
	}
	for name, levels := range levels {
		if err := v.cluster.SetTopology(name, levels); err != nil {
			return fmt.Errorf("reading Topology %s: %w", name, err)
		}
		t.named[name] = t.decision
	}
	for len(t.named) > max(maxTopologies, len(levels)) {
		oldest, since := "", t.decision
		for name, named := range t.named {
			if named < since {
				oldest, since = name, named
			}
		}
		v.cluster.RemoveTopology(oldest)
		delete(t.named, oldest)
	}
	return nil
}

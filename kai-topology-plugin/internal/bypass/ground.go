package bypass

import (
	"packtree.dev/shared/packing"
)

// Ground is where a gang could stand as a whole: in any domain of a level, or, without one, in the cluster.
type Ground struct {
	// Levels are node label keys, from the broadest to the one of which the gang needs a single domain. Empty means that it
	// may be spread over the cluster.
	Levels []string
}

// Domain returns the domain of a node, by its labels, as its path, and false if the gang cannot stand there. The cluster is
// the empty path.
func (g Ground) Domain(labels map[string]string) (string, bool) {
	path := make(packing.Path, len(g.Levels))
	for i, level := range g.Levels {
		value, ok := labels[level]
		if !ok {
			return "", false
		}
		path[i] = value
	}
	return path.String(), true
}

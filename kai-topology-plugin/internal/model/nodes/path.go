// Package nodes answers questions about one node, each in one place.
package nodes

import "packtree.dev/shared/packing"

// Path returns the domain of a node, given its labels and the node label keys of the levels, the broadest first. A node
// that lacks one of the labels is in no domain of that level, nor of any below it: the path is nil then.
func Path(labels map[string]string, levels []string) packing.Path {
	path := make(packing.Path, len(levels))
	for i, level := range levels {
		value, ok := labels[level]
		if !ok {
			return nil
		}
		path[i] = value
	}
	return path
}

package topology

import (
	"fmt"
	"slices"
	"strings"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// named is how many nodes without a label a status names.
const named = 5

// Node has the fields of a node that the coverage depends on.
type Node struct {
	Name   string
	Labels map[string]string
}

// Coverage counts nodes by the labels of a topology's levels.
type Coverage struct {
	// Levels has an entry for each level that labels name, in the order of the levels.
	Levels []grovev1alpha1.TopologyLevelStatus
	// Complete is how many nodes carry the labels of all these levels.
	Complete int32
	// Incomplete is how many nodes carry the labels of some levels and not of others.
	Incomplete int32
	// Without is how many nodes carry none of these labels.
	Without int32
	// WithoutOn names some of them: the first five in the order of their names.
	WithoutOn []string
}

// Missing counts, for each level, the nodes that lack its label. It is empty if no node lacks any, and short however
// many do.
func (c *Coverage) Missing() string {
	var on []string
	for _, level := range c.Levels {
		if level.NodesMissing > 0 {
			on = append(on, fmt.Sprintf("%s on %d", level.Domain, level.NodesMissing))
		}
	}
	if c.Without > 0 {
		names := strings.Join(c.WithoutOn, ", ")
		if int(c.Without) > len(c.WithoutOn) {
			names += ", …"
		}
		on = append(on, fmt.Sprintf("all on %d (%s)", c.Without, names))
	}
	if len(on) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d nodes have its labels; labels are missing: %s",
		c.Complete, c.Complete+c.Incomplete+c.Without, strings.Join(on, ", "))
}

// CoverageOf counts nodes by the labels of levels, which are given broadest first. The order of the nodes does not
// matter. A label counts whatever its value, as it does for the scheduler.
func CoverageOf(levels []grovev1alpha1.TopologyLevel, nodes []Node) Coverage {
	levels = labelled(levels)
	taken := Coverage{Levels: make([]grovev1alpha1.TopologyLevelStatus, len(levels))}
	found := make([]map[string]struct{}, len(levels))
	for i, level := range levels {
		taken.Levels[i].Domain, found[i] = level.Domain, map[string]struct{}{}
	}
	for _, node := range nodes {
		taken.count(levels, node, found)
	}
	for i := range found {
		taken.Levels[i].DomainCount = int32(len(found[i]))
	}
	return taken
}

// count adds a node to the coverage, and its domains to those found.
func (c *Coverage) count(levels []grovev1alpha1.TopologyLevel, node Node, found []map[string]struct{}) {
	path, placed, carried := "", true, 0
	for i, level := range levels {
		value, ok := node.Labels[level.Key]
		if !ok {
			placed = false
			continue
		}
		carried++
		c.Levels[i].Nodes++
		if placed {
			path += "/" + value // No label value has a slash.
			found[i][path] = struct{}{}
		}
	}
	switch carried {
	case len(levels):
		c.Complete++
	case 0:
		c.Without++
		c.WithoutOn = withFirst(c.WithoutOn, node.Name)
	default:
		c.Incomplete++
		c.miss(levels, node)
	}
}

// miss records the levels for which a node has no label.
func (c *Coverage) miss(levels []grovev1alpha1.TopologyLevel, node Node) {
	for i, level := range levels {
		if _, ok := node.Labels[level.Key]; ok {
			continue
		}
		missed := &c.Levels[i]
		missed.NodesMissing++
		missed.MissingOn = withFirst(missed.MissingOn, node.Name)
	}
}

// withFirst returns the first names in their order, with name if it is among them.
func withFirst(names []string, name string) []string {
	at, _ := slices.BinarySearch(names, name)
	if at == named {
		return names
	}
	names = slices.Insert(names, at, name)
	return names[:min(len(names), named)]
}

// LabelsDiffer reports whether a change of a node's labels can change the coverage of a topology with these levels.
func LabelsDiffer(levels []grovev1alpha1.TopologyLevel, before, after map[string]string) bool {
	return slices.ContainsFunc(labelled(levels), func(level grovev1alpha1.TopologyLevel) bool {
		was, had := before[level.Key]
		is, has := after[level.Key]
		return had != has || was != is
	})
}

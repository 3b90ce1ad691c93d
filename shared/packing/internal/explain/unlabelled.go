package explain

import (
	"fmt"
	"slices"
	"strings"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// maxNamed is how many nodes without a label a sentence names.
const maxNamed = 3

// unlabelled names the nodes that have room for a pod of a group and are in no domain of
// the level that the group must stand in, by the label that they lack: of several the
// broadest. Of pods of many kinds it asks about the first few.
func (d *report) unlabelled(i int) string {
	for i != counts.None && d.P.Groups[i].Required == counts.None {
		i = d.P.Groups[i].Parent
	}
	if i == counts.None {
		return ""
	}
	t, required := d.P.Cluster.Topologies[d.P.Groups[i].Slot], d.P.Groups[i].Required
	asked := d.P.Asked(d.P.Pending, i)
	asked = asked[:min(len(asked), maxReasons)]
	lacking := make([][]string, required+1)
	d.P.Nodes(problem.WholeCluster, func(node int32) {
		at := t.Domains[t.Home[node]].Level + 1
		if at <= required && slices.ContainsFunc(asked, func(a problem.AskedPods) bool { return d.hasRoom(node, a.Kind) }) {
			lacking[at] = append(lacking[at], d.P.Cluster.NodeName(node))
		}
	})
	var b strings.Builder
	for level, names := range lacking {
		if len(names) == 0 {
			continue
		}
		have := "have"
		if len(names) == 1 {
			have = "has"
		}
		slices.Sort(names)
		if more := len(names) - maxNamed; more > 0 {
			names = append(names[:maxNamed-1], fmt.Sprintf("%s and %d more", names[maxNamed-1], more))
		}
		fmt.Fprintf(&b, "; %s %s room but no label %s", strings.Join(names, ", "), have, t.Levels[level])
	}
	return b.String()
}

// hasRoom reports whether a node that filters leave to pods of a shape has free what one of them asks for.
func (d *report) hasRoom(node int32, shape int) bool {
	s, free := d.P.Shapes[shape], d.P.Cluster.FreeOn(node)
	return d.P.Cluster.Lets(s.Filter, node) && !slices.ContainsFunc(s.Requests, func(q counts.Quantity) bool {
		return free[q.Resource] < q.Amount
	})
}

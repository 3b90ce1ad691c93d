package remedies_test

import (
	"fmt"
	"strings"
	"testing"
)

const oneHost = `topologyConstraint: {topology: t, requiredTopologyLevel: kubernetes.io/hostname}`

// leaves are subgroups of a letter each, with a constraint and as many pods as their minimum, of no GPU or of four.
func leaves(constraint string, minima ...int) (spec, members string) {
	var all []string
	for i, minimum := range minima {
		name := string(rune('a' + i))
		all = append(all, fmt.Sprintf("{name: %s, minMember: %d%s}", name, minimum, constraint))
		members += pods("ask", name, minimum, 4)
	}
	return "subGroups: [" + strings.Join(all, ", ") + "]", members
}

// zoned are two nodes of two NUMA zones of two GPUs each.
var zoned = strings.Replace(topology, "hostname}", "hostname}, {nodeLabel: l/numa}", 1) + node("z", "r1", "n1", 4) +
	node("z", "r1", "n2", 4) + zonesOf("n1") + zonesOf("n2")

func zonesOf(node string) string {
	const devices = `type: Node, resources: [{name: nvidia.com/gpu, capacity: "2", available: "2"}]`
	return fmt.Sprintf(`---
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: %s}
attributes: [{name: topologyManagerPolicy, value: single-numa-node}]
zones: [{name: node-0, %[2]s}, {name: node-1, %[2]s}]
`, node, devices)
}

func TestWhatIsAskedOfTopologiesIsRelaxed(t *testing.T) {
	four, fourPods := leaves(", "+oneRack, 1, 1, 1, 3)
	five, fivePods := leaves(", "+oneRack, 1, 1, 1, 1, 3)
	racks := topology + alike(2, "") + node("z", "r2", "m1", 4) + node("z", "r2", "m2", 4) + node("z", "r3", "m3", 4) +
		node("z", "r4", "m4", 4)
	other := strings.Replace(strings.TrimPrefix(topology, "\n"), "name: t}", "name: other}", 1)
	tryAll(t, map[string]attempt{
		"a NUMA zone is the narrowest level": {
			zoned + podGroup("ask", "minMember: 2, topologyConstraint: {topology: t, requiredTopologyLevel: l/numa}") +
				pods("ask", "", 2, 2),
			[]string{
				"✓ RelaxLevel: require kubernetes.io/hostname instead of l/numa for the gang",
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
			},
		},
		"nodes that are added have zones": {
			zoned + podGroup("ask", "minMember: 2, topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}") +
				pods("ask", "", 2, 2) + pod("x", "", "", 2, "nodeName: n1,") + pod("w", "", "", 2, "nodeName: n1,") +
				pod("v", "", "", 2, "nodeName: n2,"),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
				"✗ RelaxLevel: require no topology level for the gang (now l/rack)",
			},
		},
		"nodes that are added are no better than others": {
			zoned + podGroup("ask", "minMember: 1, topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}") +
				pods("ask", "", 1, 3),
			[]string{"✗ RelaxLevel: require no topology level for the gang (now l/rack)"},
		},
		"four groups are named": {
			racks + podGroup("ask", four) + fourPods,
			[]string{
				"✓ RelaxLevel: require l/zone instead of l/rack for subgroup a, subgroup b, subgroup c, subgroup d",
				"✓ LowerMinimum: lower the minimum of subgroup d from 3 to 2 pods",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
			},
		},
		"of more groups than four some are counted": {
			racks + node("z", "r5", "m5", 4) + podGroup("ask", five) + fivePods,
			[]string{
				"✓ RelaxLevel: require l/zone instead of l/rack for subgroup a, subgroup b, subgroup c, subgroup d and 1 more",
				"✓ LowerMinimum: lower the minimum of subgroup e from 3 to 2 pods",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
			},
		},
		"what is around the group is relaxed too, and nothing else": {
			fourNodes + "---\n" + other + podGroup("ask", oneRack+`, subGroups: [{name: a, minMember: 3, `+oneHost+`},
				{name: b, minMember: 1, `+strings.Replace(oneHost, "topology: t", "topology: other", 1)+`}]`) +
				pods("ask", "a", 3, 4) + pods("ask", "b", 1, 0),
			[]string{
				"✓ RelaxLevel: require l/zone instead of kubernetes.io/hostname for the gang, subgroup a",
				"✓ LowerMinimum: lower the minimum of subgroup a from 3 to 1 pods",
			},
		},
		"a sibling keeps a broader level than the one that is in the way": {
			fourNodes + podGroup("ask", `subGroups: [{name: a, minMember: 3, `+oneHost+`}, {name: b, minMember: 1, `+oneRack+`}]`) +
				pods("ask", "a", 3, 4) + pods("ask", "b", 1, 0),
			[]string{
				"✓ RelaxLevel: require l/zone instead of kubernetes.io/hostname for subgroup a",
				"✓ LowerMinimum: lower the minimum of subgroup a from 3 to 1 pods",
			},
		},
		"a rack would do as well as a zone": {
			fourNodes + podGroup("ask", "minMember: 2, "+oneHost) + pods("ask", "", 2, 4),
			[]string{
				"✓ RelaxLevel: require l/rack instead of kubernetes.io/hostname for the gang",
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
			},
		},
	})
}

func TestMinimaAreLoweredWhereThatIsOfUse(t *testing.T) {
	uneven, unevenPods := leaves(", "+oneRack, 2, 1, 2)
	lowered := []string{
		"✓ LowerMinimum: lower the minimum of subgroup a from 2 to 1 pods",
		"✓ LowerMinimum: lower the minimum of subgroup c from 2 to 1 pods",
		"✓ AddNodes: add 1 node like n1 to the cluster",
	}
	tryAll(t, map[string]attempt{
		"the largest leaf is tried though it comes last": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", `subGroups: [{name: a, minMember: 2}, {name: b, minMember: 2},
				{name: c, minMember: 2}, {name: d, minMember: 2}, {name: e, minMember: 3}]`) + pods("ask", "a", 2, 0) +
				pods("ask", "b", 2, 0) + pods("ask", "c", 2, 0) + pods("ask", "d", 2, 0) + pods("ask", "e", 3, 2),
			[]string{
				"✓ LowerMinimum: lower the minimum of subgroup e from 3 to 2 pods",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		"of two replicas one may be left out": {
			topology + alike(2, "") + podGroup("ask", `subGroups: [{name: a, minMember: 1, `+oneHost+`},
				{name: b, minMember: 1, `+oneHost+`}, {name: c, minMember: 1, `+oneHost+`}], minSubGroup: 2`) +
				pods("ask", "a", 1, 4) + pods("ask", "b", 1, 8) + pods("ask", "c", 1, 8),
			[]string{"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 subgroups"},
		},
		"one leader and one worker are not two of a kind": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", `subGroups: [{name: leader, minMember: 1}, {name: worker, minMember: 1}]`) +
				pods("ask", "leader", 1, 4) + pods("ask", "worker", 1, 4),
			[]string{"✓ AddNodes: add 1 node like n1 to the cluster"},
		},
		"nor are groups of unequal size": {fourNodes + podGroup("ask", uneven) + unevenPods, lowered},
		"nor are those that ask for unlike domains": {
			fourNodes + podGroup("ask", `subGroups: [{name: a, minMember: 2, `+oneRack+`}, {name: c, minMember: 2, `+oneRack+`},
				{name: b, minMember: 2, `+strings.Replace(oneRack, "l/rack", "l/zone", 1)+`}]`) +
				pods("ask", "a", 2, 4) + pods("ask", "b", 2, 2) + pods("ask", "c", 2, 4),
			lowered,
		},
		"nor is one of two parts like one of none": {
			fourNodes + podGroup("ask", `subGroups: [{name: a, minMember: 2, `+oneRack+`}, {name: c, minMember: 2, `+oneRack+`},
				{name: b, minSubGroup: 2, `+oneRack+`}, {name: k, parent: b, minMember: 1}, {name: l, parent: b, minMember: 1}]`) +
				pods("ask", "a", 2, 4) + pods("ask", "k", 1, 2) + pods("ask", "l", 1, 2) + pods("ask", "c", 2, 4),
			lowered,
		},
	})
}

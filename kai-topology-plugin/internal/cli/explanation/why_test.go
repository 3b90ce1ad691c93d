package explanation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

// gangOf is a PodGroup with a spec.
func gangOf(spec string) string {
	return strings.Replace(podGroup("g", "", 1), "minMember: 1", spec, 1)
}

// oneLevel is a Topology of one level.
func oneLevel(name, key string) string {
	return fmt.Sprintf("---\napiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata: {name: %s}\n"+
		"spec: {levels: [{nodeLabel: %s}]}\n", name, key)
}

// why is the verdict on a gang with its message, and what its reasons say, if that is something else.
func why(t *testing.T, cluster string) []string {
	t.Helper()
	decision := only(t, cluster, "g").Decision
	if decision == nil {
		return []string{"nothing is decided"}
	}
	said := []string{decision.Verdict + ": " + decision.Message}
	for _, reason := range decision.Reasons {
		if reason.Sentence != decision.Message {
			said = append(said, reason.Sentence)
		}
	}
	return said
}

func TestWhyAGangWaits(t *testing.T) {
	rack := ", topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}"
	two := racks()
	gated := strings.Replace(pods("g", "g", 1, "", "", ""), "spec: {", "spec: {schedulingGates: [{name: later}], ", 1)
	tainted := strings.Replace(two, "\nstatus:", "\nspec: {taints: [{key: theirs, effect: NoSchedule}]}\nstatus:", 1)
	cordoned := strings.ReplaceAll(two, "\nstatus:", "\nspec: {unschedulable: true}\nstatus:")
	small := strings.ReplaceAll(two, `pods: "9"`, `pods: "1"`)
	blocks := strings.ReplaceAll(two, "l/zone: z,", "l/zone: z, l/block: b,") + oneLevel("u", "l/block")
	spread := func(limit string) string {
		relation := `annotations: {packtree.dev/relations: '[{"name":"racks","topology":"t","level":"l/rack",` +
			limit + `}]'}, `
		return strings.Replace(gangOf("minMember: 3"), "creationTimestamp", relation+"creationTimestamp", 1)
	}
	apart := `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: l/zone, ` +
		`labelSelector: {matchExpressions: [{key: kai.scheduler/subgroup-name, operator: Exists}]}}]}}, `
	member := func(leaf string, gpus int, spec string, on ...string) string {
		return testsupport.Pods("g", leaf, gpus, spec, on...)
	}
	for name, c := range map[string]struct {
		cluster string
		want    []string
	}{
		"it lacks pods": {
			two + gangOf("minMember: 3") + member("", 1, "", "", ""), []string{
				"Incomplete: waiting for pods to be created: the PodGroup has 2 of 3",
			},
		},
		"a leaf lacks pods": {
			two + gangOf("subGroups: [{name: a, minMember: 1}, {name: b, minMember: 2}]") + member("a", 1, "", "") +
				member("b", 1, "", ""), []string{
				"Incomplete: waiting for pods to be created: subgroup b has 1 of 2",
			},
		},
		"it has no pods": {
			two + gangOf("minMember: 1"), []string{
				"Incomplete: waiting for pods to be created: the PodGroup has 0 of 1; no pod names the PodGroup in " +
					"its annotation pod-group-name",
			},
		},
		"pods are behind gates": {
			two + gangOf("minMember: 2") + gated, []string{
				"Incomplete: waiting for pods to be created: the PodGroup has 1 of 2; pods held by scheduling " +
					"gates: 1",
			},
		},
		"pods name no leaf": {
			two + gangOf("subGroups: [{name: a, minMember: 1}]") + member("c", 1, "", ""), []string{
				`Incomplete: waiting for pods to be created: subgroup a has 0 of 1; pod gc-0 names subgroup "c", ` +
					"which is no leaf of the PodGroup: label kai.scheduler/subgroup-name is to be a",
			},
		},
		"its topology does not exist": {
			node + gangOf("minMember: 1"+rack) + member("", 1, "", ""), []string{
				`Invalid: spec.topologyConstraint.topology: Invalid value: "t": no Topology has this name: create ` +
					"it, or name another",
			},
		},
		"its level is none of the topology": {
			two + gangOf("minMember: 1"+strings.Replace(rack, "l/rack", "l/row", 1)) + member("", 1, "", ""), []string{
				`Invalid: spec.topologyConstraint.requiredTopologyLevel: Invalid value: "l/row": Topology "t" has ` +
					"no such level, its levels are: l/zone, l/rack",
			},
		},
		"no rack has room": {
			two + gangOf("minMember: 3"+rack) + member("", 2, "", "", "", ""), []string{
				"Infeasible: the gang needs one l/rack, and the nearest is z/r1: 2 of 3 pods fit, short of 2 " +
					"nvidia.com/gpu",
			},
		},
		"the cluster has no room": {
			two + gangOf("minMember: 5") + member("", 2, "", "", "", "", "", ""), []string{
				"Infeasible: the gang: 4 of 5 pods fit into the cluster, short of 2 nvidia.com/gpu",
			},
		},
		"a pod is larger than any node": {
			two + gangOf("minMember: 1") + member("", 5, "", ""), []string{
				"Infeasible: the gang: 0 of 1 pods fit into the cluster, a pod requests 5 nvidia.com/gpu, and no node " +
					"has more than 4 free",
			},
		},
		"the room is split up": {
			two + gangOf("minMember: 3") + member("", 3, "", "", "", ""), []string{
				"Infeasible: the gang: 2 of 3 pods fit into the cluster, short of 3 nvidia.com/gpu",
			},
		},
		"nodes have no place for pods": {
			small + gangOf("minMember: 3") + member("", 1, "", "", "", ""), []string{
				"Infeasible: the gang: 2 of 3 pods fit into the cluster, short of 1 pod slot",
			},
		},
		"one taint keeps them off half of the nodes": {
			tainted + gangOf("minMember: 2") + member("", 4, "", "", ""), []string{
				"Infeasible: the gang: 1 of 2 pods fit into the cluster, short of 4 nvidia.com/gpu; 1 node " +
					"excluded by taint theirs:NoSchedule",
			},
		},
		"all nodes are cordoned": {
			cordoned + gangOf("minMember: 1") + member("", 1, "", ""), []string{
				"Infeasible: the gang: 0 of 1 pods fit into the cluster; 2 nodes excluded by cordon",
			},
		},
		"no node has what is selected": {
			two + gangOf("minMember: 1") + member("", 1, "nodeSelector: {disk: ssd}, ", ""), []string{
				"Infeasible: the gang: 0 of 1 pods fit into the cluster; 2 nodes excluded by node selector or " +
					"affinity",
			},
		},
		"pods keep each other out": {
			two + gangOf("minMember: 2") + member("", 1, apart, "", ""), []string{
				"Unknown: no placement was found that keeps the rules among the gang's own pods: pod g-1 is turned " +
					"away by pod affinity or anti-affinity, on node n1 as on others of its domain",
			},
		},
		"leader and workers do not fit one rack": {
			two + gangOf("subGroups: [{name: l, minMember: 1}, {name: w, minMember: 2}]"+rack) +
				member("l", 1, "", "") + member("w", 2, "", "", ""), []string{
				"Infeasible: the gang needs one l/rack, and the nearest is z/r1: too few pods fit, short of 1 " +
					"nvidia.com/gpu (at least 5 needed, room for 4)",
			},
		},
		"pods of one leaf are of two kinds": {
			two + gangOf("minMember: 3"+rack) + member("", 1, "", "") +
				strings.ReplaceAll(member("", 3, "", "", ""), "g-", "gx-"), []string{
				"Infeasible: the gang needs one l/rack, and the nearest is z/r1: too few pods fit, short of 3 " +
					"nvidia.com/gpu (at least 7 needed, room for 4)",
			},
		},
		"of two topologies one has no room": {
			blocks +
				gangOf("subGroups: [{name: a, minMember: 2, topologyConstraint: {topology: u, requiredTopologyLevel: l/block}}, "+
					"{name: b, minMember: 2"+rack+"}]") +
				member("a", 1, "", "", "") + member("b", 3, "", "", ""), []string{
				`Infeasible: group "b" needs one l/rack, and the nearest is z/r1: 1 of 2 pods fit, short of 3 ` +
					"nvidia.com/gpu",
			},
		},
		"all of one topology are labelled otherwise": {
			blocks + gangOf("minMember: 1, topologyConstraint: {topology: w, requiredTopologyLevel: l/w}") +
				member("", 1, "", "") +
				oneLevel("w", "l/w"), []string{
				`Infeasible: the gang needs one domain of level "l/w", and no node is in one` +
					"; n1, n2 have room but no label l/w",
			},
		},
		"the rack in which it runs is full": {
			two + gangOf("minMember: 3"+rack) + member("", 2, "", "n1", "", ""), []string{
				"Infeasible: the gang needs one l/rack, and running pods tie it to z/r1: 1 of 2 pods fit, short of " +
					"2 nvidia.com/gpu",
			},
		},
		"more waits for the rack in which it runs": {
			two + gangOf("minMember: 1"+rack) + member("", 2, "", "n1", "n1", ""), []string{
				"Placed: the gang: 1 pod beyond the minimum waits, since l/rack z/r1 has no room for more, short " +
					"of 2 nvidia.com/gpu",
			},
		},
		"it runs in two racks": {
			two + gangOf("minMember: 2"+rack) + member("", 2, "", "n1", "n2", ""), []string{
				"Placed: the gang cannot join its running pods: they stand in more than one domain of level " +
					`"l/rack", z/r1 and z/r2`,
			},
		},
		"too few of its replicas fit": {
			two +
				gangOf("subGroups: [{name: a, minMember: 2"+rack+"}, {name: b, minMember: 2"+rack+"}, "+
					"{name: c, minMember: 2"+rack+"}]") +
				member("a", 2, "", "", "") + member("b", 2, "", "", "") + member("c", 2, "", "", ""), []string{
				"Infeasible: the gang: 4 of 6 pods fit into the cluster, short of 4 nvidia.com/gpu",
			},
		},
		"two racks do not take three": {
			two + spread(`"maxPerDomain":1`) + member("", 1, "", "", "", ""), []string{
				`Infeasible: relation "racks", apart by l/rack: 3 pods want domains of their own, and 2 have room`,
			},
		},
		"a relation is of a gang that stands nowhere": {
			two + spread(`"near":"router"`) + member("", 1, "", "", "", ""), []string{
				"Infeasible: the gang: 0 of 3 pods fit into the cluster, which has no node that they may use, with " +
					`relation "racks", near gang router by l/rack, which is in none`,
			},
		},
		"there is no node": {
			gangOf("minMember: 1") + member("", 1, "", ""), []string{
				"Infeasible: the gang: 0 of 1 pods fit into the cluster, which has no nodes",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(c.want, why(t, c.cluster)), "-want +got")
		})
	}
}

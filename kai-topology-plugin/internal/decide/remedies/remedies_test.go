package remedies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/decide/remedies"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

const topology = `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: l/zone}, {nodeLabel: l/rack}, {nodeLabel: kubernetes.io/hostname}]}
`

func node(zone, rack, name string, gpus int) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Node
metadata: {name: %[3]s, labels: {l/zone: %[1]s, l/rack: %[2]s, kubernetes.io/hostname: %[3]s}}
status: {allocatable: {nvidia.com/gpu: "%[4]d"}}
`, zone, rack, name, gpus)
}

func podGroup(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: %s}\nspec: {%s}\n", name, spec)
}

// pod belongs to a gang and a leaf; each may be empty.
func pod(name, gang, leaf string, gpus int, spec string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {pod-group-name: "%s"}, labels: {kai.scheduler/subgroup-name: "%s"}}
spec: {%s containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: "%[5]d"}, limits: {nvidia.com/gpu: "%[5]d"}}}]}
`, name, gang, leaf, spec, gpus)
}

func pods(gang, leaf string, number, gpus int) string {
	var all strings.Builder
	for i := range number {
		all.WriteString(pod(fmt.Sprintf("%s%s-%d", gang, leaf, i), gang, leaf, gpus, ""))
	}
	return all.String()
}

// specified is a node with something in its spec.
func specified(node, spec string) string {
	return strings.Replace(node, "\nstatus:", "\nspec: {"+spec+"}\nstatus:", 1)
}

// alike are so many nodes of four GPUs in one rack, each with something in its spec in which %d is its number.
func alike(number int, spec string) string {
	var all strings.Builder
	for i := 1; i <= number; i++ {
		all.WriteString(specified(node("z", "r1", fmt.Sprint("n", i), 4), strings.ReplaceAll(spec, "%d", fmt.Sprint(i))))
	}
	return all.String()
}

// fourNodes are two racks of two nodes of four GPUs in one zone.
var fourNodes = topology + node("z", "r1", "n1", 4) + node("z", "r1", "n2", 4) + node("z", "r2", "n3", 4) + node("z", "r2", "n4", 4)

const oneRack = `topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}`

// attempt is a cluster in which gang ask does not fit, and the remedies that are found, ✓ those by which it would.
type attempt struct {
	cluster string
	want    []string
}

func TestFind(t *testing.T) {
	tryAll(t, map[string]attempt{
		"a gang that is too wide for a rack fits a zone, a smaller one the rack, and both a larger rack": {
			fourNodes + podGroup("ask", "minMember: 3, "+oneRack) + pods("ask", "", 3, 4),
			[]string{
				"✓ RelaxLevel: require l/zone instead of l/rack for the gang",
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 2 pods",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
			},
		},
		"a level is relaxed for all that are alike, and for their ancestors": {
			fourNodes + podGroup("ask", `topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}, subGroups: [
			  {name: a, minMember: 3, `+oneRack+`}, {name: b, minMember: 1, `+oneRack+`}]`) + pods("ask", "a", 3, 4) + pods("ask", "b", 1, 4),
			[]string{
				"✓ RelaxLevel: require l/zone instead of l/rack for the gang, subgroup a, subgroup b",
				"✓ LowerMinimum: lower the minimum of subgroup a from 3 to 1 pods",
				"✓ AddNodes: add 2 nodes like n1 to rack z/r1",
			},
		},
		"of replicas that are alike, one may be left out": {
			fourNodes + podGroup("ask", `subGroups: [{name: a, minMember: 2, `+oneRack+`}, {name: b, minMember: 2, `+oneRack+`}, {name: c, minMember: 2, `+oneRack+`}]`) +
				pods("ask", "a", 2, 4) + pods("ask", "b", 2, 4) + pods("ask", "c", 2, 4),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 2 subgroups",
				"✓ AddNodes: add 2 nodes like n1 to the cluster",
			},
		},
		"of a leader and its workers, none may": {
			fourNodes + podGroup("ask", `subGroups: [{name: leader, minMember: 1}, {name: workers, minMember: 4}]`) +
				pods("ask", "leader", 1, 4) + pods("ask", "workers", 4, 4),
			[]string{
				"✓ LowerMinimum: lower the minimum of subgroup workers from 4 to 3 pods",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		"a node is called a host": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1, topologyConstraint: {topology: t, requiredTopologyLevel: kubernetes.io/hostname}") +
				pods("ask", "", 1, 4) + pod("x", "", "", 1, "nodeName: n1,"),
			[]string{
				"✓ AddNodes: add 1 node like n1 to host z/r1/n1",
				"✗ RelaxLevel: require no topology level for the gang (now kubernetes.io/hostname)",
			},
		},
		"taints are in the way, the most frequent one first, and not a soft one": {
			topology + specified(node("z", "r1", "n1", 4), "taints: [{key: team, value: b, effect: NoSchedule}]") +
				specified(node("z", "r1", "n2", 4), "taints: [{key: team, value: c, effect: NoExecute}, {key: soft, effect: PreferNoSchedule}]") +
				specified(node("z", "r1", "n3", 4), "taints: [{key: team, value: c, effect: NoExecute}]") +
				specified(node("z", "r1", "n4", 1), "taints: [{key: team, value: small, effect: NoSchedule}]") +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4),
			[]string{
				"✓ Tolerate: tolerate taint team=c:NoExecute (on 2 nodes)",
				"✓ Tolerate: tolerate taint team=b:NoSchedule (on 1 node)",
			},
		},
		"of many taints six are tried": {
			topology + alike(7, "taints: [{key: k%d, effect: NoSchedule}]") + podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4),
			[]string{
				"✓ Tolerate: tolerate taint k1:NoSchedule (on 1 node)", "✓ Tolerate: tolerate taint k2:NoSchedule (on 1 node)",
				"✓ Tolerate: tolerate taint k3:NoSchedule (on 1 node)", "✓ Tolerate: tolerate taint k4:NoSchedule (on 1 node)",
				"✓ Tolerate: tolerate taint k5:NoSchedule (on 1 node)", "✓ Tolerate: tolerate taint k6:NoSchedule (on 1 node)",
			},
		},
		"of cordoned nodes those are named that would be used": {
			topology + node("z", "r1", "n0", 4) + alike(2, cordon) +
				specified(node("z", "r1", "small", 1), "unschedulable: true") + podGroup("ask", "minMember: 3") + pods("ask", "", 3, 4),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 1 pods",
				"✓ Uncordon: uncordon n1, n2",
				"✓ AddNodes: add 2 nodes like n0 to the cluster",
			},
		},
		"cordoned nodes do not help if there are too few": {
			topology + alike(2, "unschedulable: true") + podGroup("ask", "minMember: 3") + pods("ask", "", 3, 4), nil,
		},
		"six names are listed": {
			topology + alike(6, "unschedulable: true") + podGroup("ask", "minMember: 6") + pods("ask", "", 6, 4),
			[]string{"✓ Uncordon: uncordon n1, n2, n3, n4, n5, n6"},
		},
		"of more names than six some are counted": {
			topology + alike(8, "unschedulable: true") + podGroup("ask", "minMember: 8") + pods("ask", "", 8, 4),
			[]string{"✓ Uncordon: uncordon n1, n2, n3, n4, n5 and 3 more"},
		},
		"a node that is not ready is neither uncordoned nor tolerated": {
			topology + alike(1, "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]") +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4),
			nil,
		},
		"a node that is not ready is nothing to add more of": {
			topology + alike(1, "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]") + node("z", "r1", "n2", 4) +
				podGroup("ask", "minMember: 3") + pods("ask", "", 3, 4),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 1 pods",
				"✓ AddNodes: add 2 nodes like n2 to the cluster",
			},
		},
		"what is added is like the node of the nearest domain that offers most and takes pods": {
			topology + node("z", "r2", "a1", 4) + specified(node("z", "r1", "n0", 4), "unschedulable: true") + node("z", "r1", "n1", 2) +
				node("z", "r1", "n3", 4) + node("z", "r1", "n2", 4) + podGroup("ask", "minMember: 3, "+oneRack) + pods("ask", "", 3, 4),
			[]string{
				"✓ RelaxLevel: require l/zone instead of l/rack for the gang",
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 2 pods",
				"✓ Uncordon: uncordon n0",
				"✓ AddNodes: add 1 node like n2 to rack z/r1",
			},
		},
		"what is added has no taint that the pods do not tolerate": {
			topology + specified(node("z", "r1", "n1", 8), "taints: [{key: theirs, effect: NoSchedule}]") + node("z", "r1", "n2", 4) +
				podGroup("ask", "minMember: 3") + pods("ask", "", 3, 4),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 1 pods",
				"✓ Tolerate: tolerate taint theirs:NoSchedule (on 1 node)",
				"✓ AddNodes: add 2 nodes like n2 to the cluster",
			},
		},
		"what is added has the labels that one of the pods selects": {
			topology + node("z", "r1", "n1", 8) + strings.Replace(node("z", "r1", "n2", 4), "labels: {", "labels: {disk: nvme, ", 1) +
				podGroup("ask", "minMember: 2") + pod("ask-0", "ask", "", 4, "nodeSelector: {disk: ssd},") +
				pod("ask-1", "ask", "", 4, "nodeSelector: {disk: nvme},") + pod("ask-2", "ask", "", 4, "nodeSelector: {disk: nvme},"),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ AddNodes: add 1 node like n2 to the cluster",
			},
		},
		"of leaves the largest is lowered first, and four at most": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", `subGroups: [{name: a, minMember: 2}, {name: b, minMember: 3}, {name: c, minMember: 1},
			  {name: d, minMember: 2}, {name: e, minMember: 2}, {name: f, minMember: 2}]`) + pods("ask", "a", 2, 1) + pods("ask", "b", 3, 0) +
				pods("ask", "c", 1, 1) + pods("ask", "d", 2, 1) + pods("ask", "e", 2, 0) + pods("ask", "f", 2, 0),
			[]string{
				"✓ LowerMinimum: lower the minimum of subgroup a from 2 to 1 pods",
				"✓ LowerMinimum: lower the minimum of subgroup d from 2 to 1 pods",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		"pods beyond the minimum that wait are no reason to change anything": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1") + pods("ask", "", 2, 4), nil,
		},
		"nothing is tried for a gang that fits": {
			fourNodes + podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4), nil,
		},
		"nothing is tried for a gang that lacks pods": {
			fourNodes + podGroup("ask", "minMember: 2") + pods("ask", "", 1, 4), nil,
		},
	})
}

func tryAll(t *testing.T, attempts map[string]attempt) {
	t.Helper()
	for name, test := range attempts {
		t.Run(name, func(t *testing.T) {
			cluster := testsupport.Inventory(t, test.cluster)
			table, err := turns.Set(t.Context(), cluster)
			require.NoError(t, err)
			table = table.KeepingRoom()
			turn := asking(cluster)
			answer, err := table.Decide(t.Context(), turn, 0)
			require.NoError(t, err)
			found, err := remedies.Find(t.Context(), cluster, table, turn, answer)
			require.NoError(t, err)
			var got []string
			for _, remedy := range found {
				mark := "✗"
				if remedy.Fits {
					mark = "✓"
				}
				got = append(got, fmt.Sprintf("%s %s: %s", mark, remedy.Kind, remedy.Change))
			}
			assert.Empty(t, cmp.Diff(test.want, got), "%s (-want +got)", answer.Message)
			again, err := table.Decide(t.Context(), turn, 0)
			if err != nil || again.Verdict != answer.Verdict || again.Message != answer.Message {
				t.Errorf("trying remedies changed the answer from %s to %s, error %v", answer.Message, again.Message, err)
			}
		})
	}
}

func asking(cluster *inventory.Inventory) turns.Turn {
	for _, turn := range turns.In(cluster) {
		if turn.Rank.Gang.Name == "ask" {
			return turn
		}
	}
	panic("the test has no PodGroup ask")
}

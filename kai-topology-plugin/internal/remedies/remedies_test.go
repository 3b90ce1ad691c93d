package remedies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/remedies"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	"packtree.dev/kai-topology-plugin/internal/turns"
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

// related is a PodGroup with relations.
func related(name, relations, spec string) string {
	return strings.Replace(podGroup(name, spec), "metadata: {name: "+name+"}",
		fmt.Sprintf("metadata: {name: %s, annotations: {packtree.dev/relations: '%s'}}", name, relations), 1)
}

// pod belongs to a gang and a leaf, either of which may be empty.
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

// relations are so many of one item in a rack.
func relations(number int) string {
	all := make([]string, number)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name":"r%d","topology":"t","level":"l/rack","maxPerDomain":1}`, i)
	}
	return "[" + strings.Join(all, ",") + "]"
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
		"what has the least priority and is enough has to go, and no more": {
			topology + node("z", "r1", "n1", 4) + node("z", "r1", "n2", 4) +
				podGroup("ask", "minMember: 1, "+oneRack) + pod("ask-0", "ask", "", 4, "priority: 50,") +
				podGroup("spared", "minMember: 1, preemptibility: non-preemptible") + pod("s", "spared", "", 1, "nodeName: n1,") +
				podGroup("high", "minMember: 1") + pod("h", "high", "", 2, "nodeName: n2, priority: 9,") +
				pod("small", "", "", 1, "nodeName: n1,") + pod("lone", "", "", 2, "nodeName: n2, priority: 5,"),
			[]string{
				"✓ FreeRoom: free 4 nvidia.com/gpu in rack z/r1: stop pod default/lone (priority 5), gang default/high (priority 9); all of lower priority than this gang",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
				"✗ RelaxLevel: require no topology level for the gang (now l/rack)",
			},
		},
		"of a gang that can do without some of its pods, no more go than it takes": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1, "+oneRack) + pod("ask-0", "ask", "", 2, "priority: 3,") +
				podGroup("wide", "minMember: 1") + pod("w0", "wide", "", 2, "nodeName: n1, priority: 7,") + pod("w1", "wide", "", 2, "nodeName: n1, priority: 7,"),
			[]string{
				"✓ FreeRoom: free 2 nvidia.com/gpu in rack z/r1: stop 1 of 2 pods of gang default/wide (priority 7)",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
				"✗ RelaxLevel: require no topology level for the gang (now l/rack)",
			},
		},
		"a gang that is non-preemptible goes where nobody else would help, and that is said": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1, "+oneRack) + pod("ask-0", "ask", "", 4, "priority: 3,") +
				podGroup("spared", "minMember: 1, preemptibility: non-preemptible") + pod("s", "spared", "", 1, "nodeName: n1,"),
			[]string{
				"✓ FreeRoom: free 1 nvidia.com/gpu in rack z/r1: stop gang default/spared (priority 0, non-preemptible)",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
				"✗ RelaxLevel: require no topology level for the gang (now l/rack)",
			},
		},
		"pods of a DaemonSet would be back at once": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1, "+oneRack) + pod("ask-0", "ask", "", 4, "") +
				strings.Replace(pod("agent", "", "", 1, "nodeName: n1,"), "metadata: {",
					"metadata: {ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agents, uid: agents, controller: true}], ", 1),
			[]string{
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
				"✗ RelaxLevel: require no topology level for the gang (now l/rack)",
			},
		},
		"nobody has to go where that would not help": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 8, "") + pod("x", "", "", 1, "nodeName: n1,"),
			[]string{"✗ FreeRoom: stop everything else in the cluster"},
		},
		"a node is called a host": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 2, topologyConstraint: {topology: t, requiredTopologyLevel: kubernetes.io/hostname}") +
				pods("ask", "", 2, 4) + pod("x", "", "", 1, "nodeName: n1,"),
			[]string{
				"✗ RelaxLevel: require no topology level for the gang (now kubernetes.io/hostname)",
				"✗ FreeRoom: stop everything else in host z/r1/n1",
			},
		},
		"one of two selectors is in the way": {
			fourNodes + podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 4, "nodeSelector: {l/zone: z, disk: nvme},"),
			[]string{"✓ DropSelector: drop node selector disk=nvme"},
		},
		"both of two selectors are in the way": {
			fourNodes + podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 4, "nodeSelector: {gpu: h100, disk: nvme},"),
			[]string{"✓ DropSelector: drop all node selectors and required node affinity of the pods"},
		},
		"a required affinity is in the way": {
			fourNodes + podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 4,
				"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}},"),
			[]string{"✓ DropSelector: drop the required node affinity of the pods"},
		},
		"a relation is in the way, and a preferred one is not": {
			fourNodes + related("ask", `[{"name":"racks","topology":"t","level":"l/rack","maxPerDomain":1},`+
				`{"name":"hosts","topology":"t","level":"kubernetes.io/hostname","maxPerDomain":1,"required":false}]`, "minMember: 3") + pods("ask", "", 3, 1),
			[]string{
				"✓ RelaxRelation: do without relation racks (at most 1 per domain of l/rack)",
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 2 pods",
			},
		},
		"of two relations one is in the way": {
			fourNodes + related("ask", `[{"name":"racks","topology":"t","level":"l/rack","maxPerDomain":1},`+
				`{"name":"exact","topology":"t","level":"l/rack","even":true,"perDomain":2}]`, "minMember: 4") + pods("ask", "", 4, 1),
			[]string{
				"✓ RelaxRelation: do without relation racks (at most 1 per domain of l/rack)",
				"✗ RelaxRelation: do without relation exact (2 per domain of l/rack)",
			},
		},
		"a gang is to be near one that is nowhere": {
			fourNodes + related("ask", `[{"name":"router","topology":"t","level":"l/rack","near":"router"}]`, "minMember: 1") + pods("ask", "", 1, 1),
			[]string{"✓ RelaxRelation: do without relation router (near router by l/rack)"},
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
			topology + node("z", "r1", "n0", 4) + alike(2, cordoned) +
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
		"a node is not ready": {
			topology + alike(1, "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]") +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4),
			[]string{"✓ MendNodes: get ready again: n1"},
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
				"✓ DropSelector: drop node selector disk=nvme, ssd",
				"✓ AddNodes: add 1 node like n2 to the cluster",
			},
		},
		"selectors are not what keeps the gang out": {
			fourNodes + podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 8, "nodeSelector: {disk: nvme},"),
			[]string{"✗ DropSelector: drop the node selectors and required node affinity of the pods"},
		},
		"one pod of two has the affinity that is in the way": {
			fourNodes + podGroup("ask", "minMember: 2") + pod("ask-0", "ask", "", 4,
				"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}},") +
				pod("ask-1", "ask", "", 4, ""),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ DropSelector: drop the required node affinity of the pods",
			},
		},
		"a selector is in the way, and an affinity is not": {
			fourNodes + podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 4,
				"nodeSelector: {disk: nvme}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: l/zone, operator: Exists}]}]}}},"),
			[]string{"✓ DropSelector: drop node selector disk=nvme"},
		},
		"an affinity to pods is none to nodes": {
			fourNodes + podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 4, "nodeSelector: {disk: nvme}, affinity: {podAffinity: {}},"),
			[]string{"✓ DropSelector: drop node selector disk=nvme"},
		},
		"a preferred affinity keeps nobody out": {
			fourNodes + podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 8,
				"affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, operator: Exists}]}}]}},"),
			nil,
		},
		"who is about to be gone is waited for": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4) +
				leaving(pod("x", "", "", 1, "nodeName: n1,")),
			[]string{"✓ FreeRoom: wait for 1 pod to be gone", "✓ AddNodes: add 1 node like n1 to the cluster"},
		},
		"somebody has to stop beside one that leaves already": {
			topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4) +
				leaving(pod("x", "", "", 1, "nodeName: n1,")) + pod("u", "", "", 1, "nodeName: n1,"),
			[]string{"✓ FreeRoom: free 1 nvidia.com/gpu in the cluster: stop pod default/u (priority 0); " + leavingToo[2:],
				"✓ AddNodes: add 1 node like n1 to the cluster"},
		},
		"who leaves already has more than enough elsewhere": {
			topology + node("z", "r1", "n1", 4) + node("z", "r2", "n2", 2) + podGroup("ask", "minMember: 1") +
				pods("ask", "", 1, 4) + leaving(pod("x", "", "", 1, "nodeName: n2,")) + pod("u", "", "", 1, "nodeName: n1,"),
			[]string{"✓ FreeRoom: free 1 nvidia.com/gpu in the cluster: stop pod default/u (priority 0)",
				"✓ AddNodes: add 1 node like n1 to the cluster"},
		},
		"of many relations four are tried": {
			fourNodes + related("ask", relations(6), "minMember: 3") + pods("ask", "", 3, 1),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 2 pods",
				"✗ RelaxRelation: do without relation r0 (at most 1 per domain of l/rack)",
				"✗ RelaxRelation: do without relation r1 (at most 1 per domain of l/rack)",
				"✗ RelaxRelation: do without relation r2 (at most 1 per domain of l/rack)",
				"✗ RelaxRelation: do without relation r3 (at most 1 per domain of l/rack)",
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
		"what is freed is counted in units of its own": {
			topology + strings.Replace(node("z", "r1", "n1", 4), "allocatable: {", "allocatable: {memory: 4Gi, ", 1) +
				podGroup("ask", "minMember: 1") + strings.ReplaceAll(pods("ask", "", 1, 4), `nvidia.com/gpu: "4"`, "memory: 3Gi") +
				strings.ReplaceAll(pod("x", "", "", 3, "nodeName: n1,"), `nvidia.com/gpu: "3"`, "memory: 1536Mi"),
			[]string{
				"✓ FreeRoom: free 1.5Gi memory in the cluster: stop pod default/x (priority 0)",
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
		"a gang for which too many spares are kept": {
			strings.Replace(fourNodes, topology, withSpares(2), 1) + podGroup("ask", "minMember: 1, "+oneRack) + pods("ask", "", 1, 4),
			[]string{"✓ KeepFewerSpares: keep 1 node of each l/rack as spares instead of 2 (annotation packtree.dev/spares of Topology t); " +
				"gangs that lose pods may then have no way out",
				"✓ AddNodes: add 1 node like n1 to the cluster", "✗ RelaxLevel: require no topology level for the gang (now l/rack)"},
		},
		"a node that others would leave has to stay empty then": {
			withSpares(1) + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 3") + pods("ask", "", 3, 1) +
				pod("x", "", "", 2, "nodeName: n1,"),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 2 pods", "✓ AddNodes: add 2 nodes like n1 to the cluster",
				"✗ FreeRoom: free 2 nvidia.com/gpu in the cluster: stop pod default/x (priority 0)",
			},
		},
		"so has one that nobody but those who leave is on": {
			withSpares(1) + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 3") + pods("ask", "", 3, 1) +
				leaving(pod("x", "", "", 2, "nodeName: n1,")),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 3 to 2 pods", "✓ AddNodes: add 2 nodes like n1 to the cluster",
				"✗ FreeRoom: wait for 1 pod to be gone",
			},
		},
		"of the nodes to add one stays empty": {
			withSpares(1) + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1") + pods("ask", "", 1, 3) +
				pod("x", "", "", 2, "nodeName: n1,"),
			[]string{
				"✓ AddNodes: add 2 nodes like n1 to the cluster",
				"✗ FreeRoom: free 2 nvidia.com/gpu in the cluster: stop pod default/x (priority 0)",
			},
		},
		"a cordoned node stays empty instead of another": {
			withSpares(2) + node("z", "r1", "n1", 2) + specified(node("z", "r1", "n2", 1), cordoned) +
				specified(node("z", "r1", "n3", 1), cordoned) + specified(node("z", "r1", "n4", 1), cordoned) +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 2),
			[]string{
				"✓ Uncordon: uncordon n2, n3",
				"✓ KeepFewerSpares: keep 0 nodes of each l/rack as spares instead of 2 (annotation packtree.dev/spares of Topology t); " +
					"gangs that lose pods may then have no way out",
				"✓ AddNodes: add 2 nodes like n1 to the cluster",
			},
		},
	})
}

const cordoned = "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]"

// withSpares is the topology, with so many nodes of each rack kept empty.
func withSpares(number int) string {
	return strings.Replace(topology, "metadata: {name: t}",
		"metadata: {name: t, annotations: {packtree.dev/spares: '"+sparesText(number)+"'}}", 1)
}

// leaving is a pod that is being deleted.
func leaving(pod string) string {
	return strings.Replace(pod, "metadata: {", `metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", `, 1)
}

func tryAll(t *testing.T, attempts map[string]attempt) {
	t.Helper()
	for name, test := range attempts {
		t.Run(name, func(t *testing.T) {
			cluster := testsupport.Inventory(t, test.cluster)
			table, err := turns.Set(t.Context(), cluster)
			if err != nil {
				t.Fatal(err)
			}
			table = table.KeepingRoom()
			turn := asking(cluster)
			answer, err := table.Decide(t.Context(), turn, 0)
			if err != nil {
				t.Fatal(err)
			}
			found, err := remedies.Find(t.Context(), cluster, table, turn, answer)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, remedy := range found {
				mark := "✗"
				if remedy.Fits {
					mark = "✓"
				}
				got = append(got, fmt.Sprintf("%s %s: %s", mark, remedy.Kind, remedy.Change))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", answer.Message, diff)
			}
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

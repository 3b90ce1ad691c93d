package remedies_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhichFiltersAreNamed(t *testing.T) {
	tainted := "taints: [{key: theirs, effect: NoSchedule}]"
	both := strings.Replace(cordon, "taints: [", "taints: [{key: theirs, effect: NoSchedule}, ", 1)
	soft := make([]string, 6)
	for i := range soft {
		soft[i] = fmt.Sprintf("{key: soft%d, effect: PreferNoSchedule}", i)
	}
	many := "taints: [" + strings.Join(soft, ", ") + "]"
	tolerating := "tolerations: [{key: theirs, operator: Exists}],"
	tryAll(t, map[string]attempt{
		"soft taints are none of the six, however many nodes have them": {
			topology + specified(node("z", "r1", "n1", 1), many) + specified(node("z", "r1", "n2", 1), many) +
				specified(node("z", "r1", "n3", 4), tainted) + podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4),
			[]string{"✓ Tolerate: tolerate taint theirs:NoSchedule (on 1 node)"},
		},
		"a cordoned node that is tainted too is not won by less than both": {
			topology + specified(node("z", "r1", "n1", 4), both) +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4),
			nil,
		},
		"nor is a broken one": {
			topology + alike(1, strings.Replace(tainted, "[", "[{key: node.kubernetes.io/not-ready, effect: NoExecute}, ", 1)) +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4),
			nil,
		},
		"who tolerates the other taint needs the cordon away": {
			topology + specified(node("z", "r1", "n1", 4), both) +
				podGroup("ask", "minMember: 1") + pod("a", "ask", "", 4, tolerating),
			[]string{"✓ Uncordon: uncordon n1"},
		},
		"a node whose taint the pods tolerate is added": {
			topology + alike(1, tainted) + podGroup("ask", "minMember: 2") + pod("a", "ask", "", 4, tolerating) +
				pod("b", "ask", "", 4, tolerating),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		"of pods of two kinds one selects": {
			fourNodes + podGroup("ask", "subGroups: [{name: l, minMember: 1}, {name: w, minMember: 2}]") +
				pod("l", "ask", "l", 1, "nodeSelector: {disk: nvme},") + pod("w0", "ask", "w", 4, "") +
				pod("w1", "ask", "w", 4, ""),
			[]string{
				"✓ DropSelector: drop node selector disk=nvme",
			},
		},
		"of a gang that runs the rest is turned away": {
			topology + node("z", "r1", "n1", 4) + specified(node("z", "r1", "n2", 4), tainted) +
				podGroup("ask", "minMember: 2") +
				pod("a", "ask", "", 4, "nodeName: n1,") + pod("b", "ask", "", 4, ""),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ Tolerate: tolerate taint theirs:NoSchedule (on 1 node)",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
	})
}

func TestWhoStopsAndInWhichOrder(t *testing.T) {
	tainted := "taints: [{key: theirs, effect: NoSchedule}]"
	one := topology + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 1") +
		pod("ask-0", "ask", "", 4, "priority: 9,")
	owned := func(pod, kind string) string {
		return strings.Replace(pod, "metadata: {", "metadata: {ownerReferences: [{apiVersion: v1, kind: "+kind+
			", name: o, uid: o, controller: true}], ", 1)
	}
	add := "✓ AddNodes: add 1 node like n1 to the cluster"
	tryAll(t, map[string]attempt{
		"those come last that nobody else can make go": {
			one + pod("lone", "", "", 1, "nodeName: n1, priority: 3,") +
				podGroup("spared", "minMember: 1, preemptibility: non-preemptible") +
				pod("s", "spared", "", 1, "nodeName: n1,"),
			[]string{
				"✓ FreeRoom: free 2 nvidia.com/gpu in the cluster: stop pod default/lone (priority 3), " +
					"gang default/spared (priority 0, non-preemptible)",
				add,
			},
		},
		"then those of lower priority come first": {
			one + pod("a", "", "", 2, "nodeName: n1, priority: 4,") + pod("b", "", "", 1, "nodeName: n1, priority: 3,") +
				pod("c", "", "", 1, "nodeName: n1, priority: -1,"),
			[]string{
				"✓ FreeRoom: free 4 nvidia.com/gpu in the cluster: stop " +
					"pod default/c (priority -1), pod default/b (priority 3), " +
					"pod default/a (priority 4); all of lower priority than this gang",
				add,
			},
		},
		"then those that free more": {
			one + pod("a", "", "", 1, "nodeName: n1,") + pod("b", "", "", 3, "nodeName: n1,"),
			[]string{
				"✓ FreeRoom: free 4 nvidia.com/gpu in the cluster: stop " +
					"pod default/b (priority 0), pod default/a (priority 0); " +
					"all of lower priority than this gang",
				add,
			},
		},
		"then they are sorted by name, and of more than six some are counted": {
			topology + strings.Replace(node("z", "r1", "n1", 7), `nvidia.com/gpu: "7"`, `nvidia.com/gpu: "7", pods: "9"`, 1) +
				podGroup("ask", "minMember: 1") + pod("ask-0", "ask", "", 7, "") +
				standing("g", "f", "e", "d", "c", "b", "a"),
			[]string{
				"✓ FreeRoom: free 7 nvidia.com/gpu in the cluster: stop " +
					"pod default/a (priority 0), pod default/b (priority 0), " +
					"pod default/c (priority 0), pod default/d (priority 0), pod default/e (priority 0) and 2 more",
				add,
			},
		},
		"one of equal priority is not outranked": {
			one + pod("a", "", "", 1, "nodeName: n1, priority: 9,") + pod("b", "", "", 3, "nodeName: n1, priority: 8,"),
			[]string{
				"✓ FreeRoom: free 4 nvidia.com/gpu in the cluster: stop pod default/b (priority 8), " +
					"pod default/a (priority 9)", add,
			},
		},
		"a pod of a Job can stop": {
			one + owned(pod("x", "", "", 1, "nodeName: n1,"), "Job"),
			[]string{
				"✓ FreeRoom: free 1 nvidia.com/gpu in the cluster: stop pod default/x (priority 0); " +
					"all of lower priority than this gang",
				add,
			},
		},
		"beside a pod of a DaemonSet others can": {
			one + owned(pod("agent", "", "", 0, "nodeName: n1,"), "DaemonSet") + pod("x", "", "", 1, "nodeName: n1,"),
			[]string{
				"✓ FreeRoom: free 1 nvidia.com/gpu in the cluster: stop pod default/x (priority 0); " +
					"all of lower priority than this gang",
				add,
			},
		},
		"who is outside of the nearest domain stays, whatever its priority": {
			fourNodes + podGroup("ask", "minMember: 2, "+oneRack) + pods("ask", "", 2, 4) +
				pod("x", "", "", 1, "nodeName: n2, priority: 5,") + pod("w", "", "", 1, "nodeName: n4,"),
			[]string{
				"✓ RelaxLevel: require l/zone instead of l/rack for the gang",
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ FreeRoom: free 1 nvidia.com/gpu in rack z/r1: stop pod default/x (priority 5)",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
			},
		},
		"room lacks although filters exclude other nodes": {
			topology + node("z", "r1", "n1", 4) + specified(node("z", "r1", "n2", 4), tainted) +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4) + pod("x", "", "", 1, "nodeName: n1,"),
			[]string{
				"✓ Tolerate: tolerate taint theirs:NoSchedule (on 1 node)",
				"✓ FreeRoom: free 1 nvidia.com/gpu in the cluster: stop pod default/x (priority 0)",
				add,
			},
		},
		"a relation lacks a domain that somebody fills": {
			fourNodes + related("ask", relations(1), "minMember: 2") + pods("ask", "", 2, 4) +
				pod("x", "", "", 4, "nodeName: n3,") + pod("w", "", "", 4, "nodeName: n4, priority: 1,"),
			[]string{
				"✓ RelaxRelation: do without relation r0 (at most 1 per domain of l/rack)",
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ FreeRoom: free 4 nvidia.com/gpu in the cluster: stop pod default/x (priority 0)",
			},
		},
	})
}

// standing are pods of one GPU each on node n1.
func standing(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		all.WriteString(pod(name, "", "", 1, "nodeName: n1,"))
	}
	return all.String()
}

func TestWhichNodeIsAdded(t *testing.T) {
	own := strings.Replace(node("z", "r1", "n1", 4), "labels: {", "labels: {own: n1, ", 1)
	lowered := "✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods"
	tryAll(t, map[string]attempt{
		"one with GPUs rather than the first": {
			topology + node("z", "r1", "n0", 0) + node("z", "r1", "n1", 4) + podGroup("ask", "minMember: 2") +
				pods("ask", "", 2, 4),
			[]string{lowered, "✓ AddNodes: add 1 node like n1 to the cluster"},
		},
		"the larger rather than one that comes earlier by its name": {
			topology + node("z", "r1", "n2", 4) + node("z", "r1", "n1", 2) + podGroup("ask", "minMember: 2") +
				pods("ask", "", 2, 4),
			[]string{lowered, "✓ AddNodes: add 1 node like n2 to the cluster"},
		},
		"a node of its own name, under whatever label": {
			topology + own +
				podGroup("ask", "minMember: 2") + pod("a", "ask", "", 4, "nodeSelector: {own: n1},") + pod("b", "ask", "", 4, ""),
			[]string{
				lowered, "✓ AddNodes: add 1 node like n1 to the cluster",
				"✗ DropSelector: drop the node selectors and required node affinity of the pods",
			},
		},
		"none where the pods select the one node that there is": {
			topology + own + podGroup("ask", "minMember: 2") +
				pod("a", "ask", "", 4, "nodeSelector: {own: n1},") + pod("b", "ask", "", 4, "nodeSelector: {own: n1},"),
			[]string{lowered, "✗ DropSelector: drop the node selectors and required node affinity of the pods"},
		},
		"of several nodes as many as pods of other kinds leave open": {
			topology + node("z", "r1", "n1", 4) +
				podGroup("ask", "subGroups: [{name: l, minMember: 1}, {name: w, minMember: 4}]") +
				pods("ask", "l", 1, 1) + pods("ask", "w", 4, 2),
			[]string{
				"✓ LowerMinimum: lower the minimum of subgroup w from 4 to 1 pods",
				"✓ AddNodes: add 2 nodes like n1 to the cluster",
			},
		},
	})
}

func TestOnlyNarrowerLevelsAreRelaxed(t *testing.T) {
	inZone := strings.Replace(oneRack, "l/rack", "l/zone", 1)
	tryAll(t, map[string]attempt{
		"the gang has the new level already": {
			fourNodes + podGroup("ask", inZone+", subGroups: [{name: a, minMember: 3, "+oneRack+"}]") + pods("ask", "a", 3, 4),
			[]string{
				"✓ RelaxLevel: require l/zone instead of l/rack for subgroup a",
				"✓ LowerMinimum: lower the minimum of subgroup a from 3 to 2 pods",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
			},
		},
		"the gang has a broader level than the new one": {
			fourNodes + podGroup("ask", inZone+", subGroups: [{name: a, minMember: 2, "+oneHost+"}]") + pods("ask", "a", 2, 4),
			[]string{
				"✓ RelaxLevel: require l/rack instead of kubernetes.io/hostname for subgroup a",
				"✓ LowerMinimum: lower the minimum of subgroup a from 2 to 1 pods",
			},
		},
	})
}

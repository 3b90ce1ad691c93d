package remedies_test

import (
	"strings"
	"testing"
)

// cordon keeps a node from pods as kubectl does.
const cordon = "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]"

// asking for something else than GPUs.
func instead(pod, what string) string {
	return strings.NewReplacer(`nvidia.com/gpu: "1"`, what).Replace(pod)
}

func TestRoomThatIsFreedOrAdded(t *testing.T) {
	small := func(what string) string {
		return topology + strings.Replace(node("z", "r1", "n1", 4), "allocatable: {", "allocatable: {"+what+", ", 1)
	}
	tolerant := "tolerations: [{operator: Exists}],"
	tryAll(t, map[string]attempt{
		"nobody is stopped where room is not what lacks": {
			topology + specified(node("z", "r1", "n1", 4), "taints: [{key: theirs, effect: NoSchedule}]") +
				pod("x", "", "", 1, "nodeName: n1,") + podGroup("ask", "minMember: 1") + pods("ask", "", 1, 1),
			[]string{"✓ Tolerate: tolerate taint theirs:NoSchedule (on 1 node)"},
		},
		"what is freed elsewhere is not counted": {
			fourNodes + podGroup("ask", "minMember: 2, "+oneRack) + pods("ask", "", 2, 4) +
				podGroup("wide", "minMember: 2") + pod("w0", "wide", "", 3, "nodeName: n1,") + pod("w1", "wide", "", 2, "nodeName: n3,") +
				pod("x", "", "", 1, "nodeName: n4, priority: 9,"),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ FreeRoom: free 3 nvidia.com/gpu in rack z/r1: stop gang default/wide (priority 0)",
				"✓ AddNodes: add 1 node like n1 to rack z/r1",
				"✗ RelaxLevel: require no topology level for the gang (now l/rack)",
			},
		},
		"where places for pods lack, no amount is said": {
			strings.Replace(small("cpu: 1"), "cpu: 1", `pods: "1"`, 1) + podGroup("ask", "minMember: 1") + pods("ask", "", 1, 1) +
				pod("x", "", "", 0, "nodeName: n1,"),
			[]string{
				"✓ FreeRoom: stop pod default/x (priority 0) in the cluster",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		"parts of a processor are said": {
			small("cpu: 2") + podGroup("ask", "minMember: 1") + instead(pods("ask", "", 1, 1), "cpu: 1") +
				instead(pod("x", "", "", 1, "nodeName: n1,"), "cpu: 1500m"),
			[]string{
				"✓ FreeRoom: free 1.5 cpu in the cluster: stop pod default/x (priority 0)",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		"ten processors are not one": {
			small("cpu: 10") + podGroup("ask", "minMember: 1") + instead(pods("ask", "", 1, 1), "cpu: 1") +
				instead(pod("x", "", "", 1, "nodeName: n1,"), "cpu: 10"),
			[]string{
				"✓ FreeRoom: free 10 cpu in the cluster: stop pod default/x (priority 0)",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		"no more nodes are added than it takes": {
			fourNodes + podGroup("ask", "minMember: 10") + pods("ask", "", 10, 4),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 10 to 4 pods",
				"✓ AddNodes: add 6 nodes like n1 to the cluster",
			},
		},
		"not even for pods that tolerate all is a broken or cordoned node added": {
			topology + specified(node("z", "r1", "n0", 4), cordon) + specified(node("z", "r1", "n1", 4),
				"taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]") + node("z", "r1", "n2", 4) +
				podGroup("ask", "minMember: 4") + pod("a", "ask", "", 4, tolerant) + pod("b", "ask", "", 4, tolerant) +
				pod("c", "ask", "", 4, tolerant) + pod("d", "ask", "", 4, tolerant),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 4 to 3 pods",
				"✓ AddNodes: add 1 node like n2 to the cluster",
			},
		},
		"fewer spares do not help who needs more than there is": {
			strings.Replace(fourNodes, "metadata: {name: t}",
				`metadata: {name: t, annotations: {packtree.dev/spares: '[{"level":"l/rack","nodes":1}]'}}`, 1) +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 8),
			nil,
		},
		"no spare is left where all are needed": {
			strings.Replace(fourNodes, "metadata: {name: t}",
				`metadata: {name: t, annotations: {packtree.dev/spares: '[{"level":"l/rack","nodes":2}]'}}`, 1) +
				podGroup("ask", "minMember: 2, "+oneRack) + pods("ask", "", 2, 4),
			[]string{
				"✓ KeepFewerSpares: keep 0 nodes of each l/rack as spares instead of 2 (annotation packtree.dev/spares of Topology t); " +
					"gangs that lose pods may then have no way out",
				"✓ AddNodes: add 2 nodes like n1 to the cluster",
				"✗ RelaxLevel: require no topology level for the gang (now l/rack)",
			},
		},
	})
}

// Pods that the API server has shown have a version, by which others remember what they ask for.
func TestPodsThatAreShownAreTriedAsOtherPods(t *testing.T) {
	shown := func(pod, name string) string {
		return strings.Replace(pod, "metadata: {", `metadata: {uid: `+name+`, resourceVersion: "1", `, 1)
	}
	selecting := "nodeSelector: {disk: nvme},"
	tryAll(t, map[string]attempt{
		"a selector is in the way of the second pod": {
			fourNodes + podGroup("ask", "minMember: 2") + shown(pod("a", "ask", "", 4, "nodeName: n1,"), "a") +
				shown(pod("b", "ask", "", 4, selecting), "b"),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 2 to 1 pods",
				"✓ DropSelector: drop node selector disk=nvme",
			},
		},
		"a taint is": {
			topology + alike(1, "taints: [{key: theirs, effect: NoSchedule}]") + podGroup("ask", "minMember: 1") +
				shown(pod("a", "ask", "", 4, ""), "a"),
			[]string{"✓ Tolerate: tolerate taint theirs:NoSchedule (on 1 node)"},
		},
	})
}

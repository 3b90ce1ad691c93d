package remedies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/decide/remedies"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

// cordon keeps a node from pods as kubectl does.
const cordon = "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]"

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
		"room lacks although a taint excludes another node": {
			topology + node("z", "r1", "n1", 4) + specified(node("z", "r1", "n2", 4), tainted) +
				podGroup("ask", "minMember: 1") + pods("ask", "", 1, 4) + pod("x", "", "", 1, "nodeName: n1,"),
			[]string{
				"✓ Tolerate: tolerate taint theirs:NoSchedule (on 1 node)",
				"✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		// Pods that the API server has shown have a version, by which filters remember what they ask for.
		"a pod with a version is tried as another pod": {
			topology + alike(1, tainted) + podGroup("ask", "minMember: 1") + strings.Replace(
				pod("a", "ask", "", 4, ""), "metadata: {", `metadata: {uid: a, resourceVersion: "1", `, 1),
			[]string{"✓ Tolerate: tolerate taint theirs:NoSchedule (on 1 node)"},
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
				podGroup("ask", "minMember: 4") + pod("a", "ask", "", 4, "tolerations: [{operator: Exists}],") + pod("b", "ask", "", 4, "tolerations: [{operator: Exists}],") +
				pod("c", "ask", "", 4, "tolerations: [{operator: Exists}],") + pod("d", "ask", "", 4, "tolerations: [{operator: Exists}],"),
			[]string{
				"✓ LowerMinimum: lower the minimum of the gang from 4 to 3 pods",
				"✓ AddNodes: add 1 node like n2 to the cluster",
			},
		},
		"a node of its own name, under whatever label": {
			topology + own +
				podGroup("ask", "minMember: 2") + pod("a", "ask", "", 4, "nodeSelector: {own: n1},") + pod("b", "ask", "", 4, ""),
			[]string{
				lowered, "✓ AddNodes: add 1 node like n1 to the cluster",
			},
		},
		"none where the pods select the one node that there is": {
			topology + own + podGroup("ask", "minMember: 2") +
				pod("a", "ask", "", 4, "nodeSelector: {own: n1},") + pod("b", "ask", "", 4, "nodeSelector: {own: n1},"),
			[]string{lowered},
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

func TestTheNodesThatAreNeededHaveADomain(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"of the required level": {"minMember: 3, " + oneRack, "1 like n1, l/rack map[l/rack:r1 l/zone:z]"},
		"anywhere":              {"minMember: 6", "2 like n1,  map[]"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := testsupport.Inventory(t, fourNodes+podGroup("ask", c.spec)+pods("ask", "", 6, 4))
			table := tableOf(t, cluster)
			answer, err := table.Decide(t.Context(), asking(cluster), 0)
			require.NoError(t, err)
			nodes, err := remedies.FindNodes(t.Context(), cluster, table, asking(cluster), answer)
			require.NoError(t, err)
			assert.Equal(t, c.want, fmt.Sprintf("%d like %s, %s %v", nodes.Count, nodes.Like.Name, nodes.Level, nodes.Domain))
		})
	}
}

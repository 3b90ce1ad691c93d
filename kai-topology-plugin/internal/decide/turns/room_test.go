package turns_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

func TestSeatsAreKeptFromOthers(t *testing.T) {
	seats := "seats: [" + seat("", 2, 5, "r1-a, r1-b") + ", " + seat("", 1, 7, "r1-a") + "]"
	forgotten := strings.ReplaceAll(seat("", 1, 9, "r1-d"), `, until: "`+until+`"`, "")
	table := set(t, topology+nodes(4, "r1-a", "r1-b", "r1-c", "r1-d")+
		podGroup("holder", "", "minMember: 3", seats)+
		podGroup("other", "", "minMember: 1", "seats: ["+seat("", 1, 5, "r1-c")+"]")+
		podGroup("moved", "", "minMember: 1", "seats: ["+forgotten+"]")+
		podGroup("forged", "", "minMember: 1", "seats: ["+seat("", 1, 9, "r1-d")+"]")+
		pods("holder", "", 1, "priority: 7,", "")+pods("other", "", 1, "priority: 5,", "")+
		pods("forged", "", 1, "priority: 3,", ""))
	for name, test := range map[string]struct {
		asking   string
		priority int32
		want     string
	}{
		"all of them from whoever is below":                  {"", 4, "r1-a:2 r1-b:1 r1-c:1"},
		"all of them from whoever has the same priority":     {"", 5, "r1-a:2 r1-b:1 r1-c:1"},
		"from whoever is above, those that are not below it": {"", 6, "r1-a:1"},
		"none from whoever is above all":                     {"", 8, ""},
		"not its own from a gang, and those of others":       {"holder", 0, "r1-c:1 r1-d:1"},
	} {
		rank := gang.Rank{Gang: gang.Key{Namespace: "ns", Name: test.asking}, Priority: test.priority}
		assert.Equal(t, test.want, keptNodes(table.KeepingRoom().SeatsFrom(rank)), "%s: kept", name)
		assert.Nil(t, table.SeatsFrom(rank), "%s: a table that keeps no room", name)
	}
}

func TestAPodFillsASeat(t *testing.T) {
	cluster := topology + nodes(4, "r1-a", "r1-b", "r1-c") +
		podGroup("of", "", "subGroups: [{name: x, minMember: 2}, {name: z, minMember: 1}]",
			"seats: ["+seat("x", 1, 0, "r1-a, r1-b")+", "+seat("z", 1, 0, "r1-a")+"]") +
		podGroup("none", "", "minMember: 1", "") +
		pods("of", "x", 1, "", "", "", "") + pods("of", "z", 1, "", "") + pods("none", "", 1, "", "") +
		strings.Replace(pods("lone", "", 1, "", ""), "pod-group-name", "note", 1)
	for name, test := range map[string]struct {
		assumed map[string]string
		want    string
	}{
		"that of its leaf on its node":                    {map[string]string{"ofx-0": "r1-b"}, "x@r1-a z@r1-a"},
		"that of its leaf, and not another's on the node": {map[string]string{"ofz-0": "r1-a"}, "x@r1-a x@r1-b"},
		"the first of its leaf, if none is on its node":   {map[string]string{"ofx-0": "r1-c"}, "x@r1-b z@r1-a"},
		"one for each pod":                                {map[string]string{"ofx-0": "r1-c", "ofx-1": "r1-b"}, "z@r1-a"},
		"no more than there are": {
			map[string]string{"ofx-0": "r1-a", "ofx-1": "r1-b", "ofx-2": "r1-c"}, "z@r1-a",
		},
		"none of another gang":   {map[string]string{"none-0": "r1-a"}, "x@r1-a x@r1-b z@r1-a"},
		"none if it has no gang": {map[string]string{"lone-0": "r1-a"}, "x@r1-a x@r1-b z@r1-a"},
		"none if it has no node": {map[string]string{"elsewhere": "r1-a"}, "x@r1-a x@r1-b z@r1-a"},
	} {
		table := set(t, cluster).KeepingRoom()
		require.NoError(t, table.Assume(table.Inventory().Pods, test.assumed))
		var left []string
		for node, seats := range table.SeatsFrom(gang.Rank{}) {
			for _, pod := range seats {
				left = append(left, gang.LeafOf(pod)+"@"+node)
			}
		}
		slices.Sort(left)
		assert.Equal(t, test.want, strings.Join(left, " "), "%s: left", name)
		for _, pod := range table.Inventory().Pods {
			assert.Equal(t, test.assumed[pod.Name], pod.Spec.NodeName, "%s: pod %s has node", name, pod.Name)
		}
	}
}

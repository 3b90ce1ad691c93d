package turns_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/turns"
)

func TestSeatsAreKeptFromOthers(t *testing.T) {
	seats := "seats: [" + seat("", 2, 5, "r1-a, r1-b") + ", " + seat("", 1, 7, "r1-a") + "]"
	forgotten := strings.ReplaceAll(seat("", 1, 9, "r1-d"), `, until: "`+until+`"`, "")
	table := set(t, topology+nodes(4, "r1-a", "r1-b", "r1-c", "r1-d")+
		podGroup("holder", "", "minMember: 3", seats)+
		podGroup("other", "", "minMember: 1", "seats: ["+seat("", 1, 5, "r1-c")+"]")+
		podGroup("moved", "", "minMember: 1", "seats: ["+forgotten+"]"))
	for name, test := range map[string]struct {
		asking   string
		priority int32
		want     string
	}{
		"all of them from whoever is below":                  {"", 4, "r1-a:2 r1-b:1 r1-c:1"},
		"all of them from whoever has the same priority":     {"", 5, "r1-a:2 r1-b:1 r1-c:1"},
		"from whoever is above, those that are not below it": {"", 6, "r1-a:1"},
		"none from whoever is above all":                     {"", 8, ""},
		"not its own from a gang, and those of another":      {"holder", 0, "r1-c:1"},
	} {
		rank := gang.Rank{Gang: gang.Key{Namespace: "ns", Name: test.asking}, Priority: test.priority}
		if got := keptNodes(table.KeepingRoom().SeatsFrom(rank)); got != test.want {
			t.Errorf("%s: kept is %q, want %q", name, got, test.want)
		}
		if kept := table.SeatsFrom(rank); kept != nil {
			t.Errorf("%s: a table that keeps no room keeps %v", name, kept)
		}
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
		if err := table.Assume(table.Inventory().Pods, test.assumed); err != nil {
			t.Fatal(err)
		}
		var left []string
		for node, seats := range table.SeatsFrom(gang.Rank{}) {
			for _, pod := range seats {
				left = append(left, gang.LeafOf(pod)+"@"+node)
			}
		}
		slices.Sort(left)
		if got := strings.Join(left, " "); got != test.want {
			t.Errorf("%s: left is %q, want %q", name, got, test.want)
		}
		for _, pod := range table.Inventory().Pods {
			if pod.Spec.NodeName != test.assumed[pod.Name] {
				t.Errorf("%s: pod %s has node %q", name, pod.Name, pod.Spec.NodeName)
			}
		}
	}
}

func TestWhoMayStandOnSpares(t *testing.T) {
	cluster := keepingSpares(1) + nodes(4, "r1-a", "r1-b") +
		podGroup("new", "", "minMember: 1", "") + pods("new", "", 4, "", "") +
		podGroup("begun", "", "minMember: 2", "") + pods("begun", "", 4, "", "r1-a", "") +
		podGroup("wrong", "", "minMember: 1, topologyConstraint: {topology: none, requiredTopologyLevel: l}", "") +
		pods("wrong", "", 4, "", "")
	table := set(t, cluster).KeepingSpares()
	for name, test := range map[string]struct {
		turn func(turns.Turn) turns.Turn
		of   string
		kept bool
	}{
		"not a gang that lost nothing":    {of: "new", kept: true},
		"a gang of which some pods stand": {of: "begun"},
		"a gang that has seats": {of: "new", turn: func(turn turns.Turn) turns.Turn {
			turn.Seated = true
			return turn
		}},
		"a gang that cannot be planned asks for nothing": {of: "wrong"},
	} {
		turn := turnOf(t, table, test.of)
		if test.turn != nil {
			turn = test.turn(turn)
		}
		if kept := table.SparesFrom(turn); (len(kept) > 0) != test.kept {
			t.Errorf("%s: kept are %v", name, kept)
		}
	}
	if got := decided(t, table, turnOf(t, table, "new")); got != "Infeasible" {
		t.Errorf("a gang takes the last spare: %s", got)
	}
	if got := decided(t, table, turnOf(t, table, "begun")); got != "Placed begun-1:r1-b" {
		t.Errorf("a gang that lost pods: %s", got)
	}
}

// A node on which room is kept for anybody, whoever that is, is no spare.
func TestSparesAreOfNodesWithoutReservations(t *testing.T) {
	cluster := nodes(4, "r1-a", "r1-b") +
		podGroup("of", "", "minMember: 1", "seats: ["+seat("", 1, -2147483648, "r1-a")+"]") +
		pods("of", "", 1, "", "")
	spared := func(table *turns.Table) string {
		var names []string
		for _, domain := range table.Spares() {
			for _, node := range domain.There {
				names = append(names, node.Node().Name)
			}
		}
		return strings.Join(names, " ")
	}
	table := set(t, keepingSpares(2)+cluster).KeepingSpares()
	if got := len(table.Wanted()); got != 1 {
		t.Errorf("%d levels want spares", got)
	}
	room := clusterview.Reserved{"r1-b": {&corev1.Pod{}}}
	respecting := table.Respecting(func(gang.Key, int32) clusterview.Reserved { return room })
	for name, got := range map[string][2]string{
		"none is kept":           {spared(table), "r1-a r1-b"},
		"a scheduler keeps some": {spared(respecting), "r1-a"},
		"a seat is held":         {spared(set(t, keepingSpares(2)+cluster).KeepingRoom()), "r1-b"},
		"no spares are wanted":   {spared(set(t, topology+cluster).KeepingSpares()), ""},
		"others are wanted":      {spared(set(t, topology+cluster).Keeping(table.Wanted())), "r1-a r1-b"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: spares are %q, want %q", name, got[0], got[1])
		}
	}
	err := table.Under(turns.Change{Reserved: room}, func(under *turns.Table) error {
		if got := spared(under); got != "r1-a" {
			t.Errorf("under a change that reserves a node spares are %q", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

package turns_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

func TestGangsTakeTurnsInTheOrderOfTheScheduler(t *testing.T) {
	cluster := read(t, topology+
		podGroup("a-young", "", "minMember: 1, priorityClassName: high", "")+pods("a-young", "", 1, "", "")+
		podGroup("b-old", `creationTimestamp: "2025-01-01T00:00:00Z"`, "minMember: 1", "")+pods("b-old", "", 1, "", "")+
		podGroup("c-high", "", "minMember: 1", "")+pods("c-high", "", 1, "priority: 9,", "")+
		podGroup("d-alone", "", "minMember: 1", ""))
	var got []string
	for _, turn := range turns.In(cluster) {
		got = append(got, fmt.Sprint(turn.Rank.Gang.Name, " ", len(turn.Gang.Pending), " ", turn.Hold != nil))
	}
	want := []string{"c-high 1 false", "b-old 1 false", "a-young 1 false", "d-alone 0 true"}
	assert.Empty(t, cmp.Diff(want, got))
}

func TestWhatHoldsAGang(t *testing.T) {
	const (
		noRunning = `packtree.dev/min-running: '{"workers": 1}'`
		noLevel   = "minMember: 1, topologyConstraint: {topology: t, requiredTopologyLevel: l/none}"
		noName    = "subGroups: [{name: a, minMember: 1}, {name: a, minMember: 1}]"
	)
	for name, test := range map[string]struct {
		written, spec string
		created       bool
		// holds are parts of the message, wrong how many faults an API server would see and the scheduler.
		holds []string
		wrong [2]int
	}{
		"nothing holds one that can be planned": {spec: "minMember: 1"},
		"what an API server would not create is invalid": {
			written: noRunning, spec: "minMember: 1", holds: []string{"workers"}, wrong: [2]int{1, 0},
		},
		"what a cluster has is held to what the scheduler is": {
			written: noRunning, spec: "minMember: 1", created: true, wrong: [2]int{1, 0},
		},
		"a level that there is not is for the scheduler": {
			spec: noLevel, holds: []string{"l/none"}, wrong: [2]int{0, 1},
		},
		"all that is wrong is said": {
			written: noRunning, spec: noLevel, holds: []string{"workers", "l/none"}, wrong: [2]int{1, 1},
		},
		"of a tree that is none no level is looked at": {
			spec:  strings.Replace(noName, "{name: a,", "{name: a, "+strings.Replace(oneRack, "l/rack", "l/none", 1)+",", 1),
			holds: []string{"Duplicate"}, wrong: [2]int{1, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := read(t, topology+podGroup("g", annotated(test.written), test.spec, "")+pods("g", "", 1, "", ""))
			if !test.created {
				cluster.PodGroups[0].CreationTimestamp.Reset()
			}
			refused, blocked := turns.Wrong(cluster.PodGroups[0], cluster.Levels)
			got := [2]int{len(refused), len(blocked)}
			assert.Equal(t, test.wrong, got, "%v are wrong: %v, %v", got, refused, blocked)
			hold := turns.In(cluster)[0].Hold
			require.Equal(t, len(test.holds) > 0, hold != nil, "it is held: %v", hold)
			for _, part := range test.holds {
				assert.Contains(t, hold.Message, part, "%s is not said: %s", part, hold.Message)
			}
		})
	}
}

func TestStandingGangs(t *testing.T) {
	cluster := read(t, topology+nodes(4, "r1-a", "r2-a")+
		podGroup("base", annotated(follows), "minMember: 1", "")+pods("base", "", 1, "", "r1-a", "")+
		podGroup("scaled", annotated(follows), "minMember: 1", "")+pods("scaled", "", 1, "", "r2-a")+
		podGroup("apart", annotated(`packtree.dev/relations: '[{"name":"n","topology":"t","level":"l/rack","near":"base"}]'`),
			"minMember: 1", "")+pods("apart", "", 1, "", "r2-a")+
		podGroup("waiting", annotated(follows), "minMember: 1", "")+pods("waiting", "", 1, "", "")+
		podGroup("wrong", "", "subGroups: [{name: a}, {name: a}]", "")+pods("wrong", "a", 1, "", "r1-a"))
	got := map[string]string{}
	for _, assembled := range turns.Standing(cluster) {
		said := fmt.Sprintf("%d stand, %d wait", len(assembled.Standing), len(assembled.Pending))
		if assembled.Shared != nil {
			said += fmt.Sprintf(", others %v", assembled.Shared.Others)
		}
		for _, relation := range assembled.Relations {
			said += fmt.Sprintf(", near %v", relation.Others[0].Nodes)
		}
		got[assembled.PodGroup.Name] = said
	}
	want := map[string]string{
		"base":   "1 stand, 0 wait, others [{ns/scaled [r2-a]}]",
		"scaled": "1 stand, 0 wait, others [{ns/base [r1-a]}]",
		"apart":  "1 stand, 0 wait, near [[r1-a]]",
	}
	assert.Empty(t, cmp.Diff(want, got))
}

// Rack r1 has room for the gang base alone, and r2 for its followers, too.
func TestAGangGoesWhereThoseFitThatFollowIt(t *testing.T) {
	cluster := topology + nodes(4, "r1-a", "r2-a", "r2-b") +
		podGroup("base", annotated(follows), "minMember: 1, "+oneRack, "") + pods("base", "", 4, "", "")
	scaled := podGroup("scaled", annotated(follows), "minMember: 1, "+oneRack, "")
	waits := pods("scaled", "", 4, "", "")
	for name, test := range map[string]struct{ more, want string }{
		"one that is alone leaves as little room as it can": {"", "r1-a"},
		"one whose follower waits":                          {scaled + waits, "r2"},
		"Grove holds the follower's pods until then": {scaled +
			pods("scaled", "", 4, "schedulingGates: [{name: grove.io/podgang-pending-creation}],", ""), "r2"},
		"somebody else holds them":     {scaled + pods("scaled", "", 4, "schedulingGates: [{name: x}],", ""), "r1-a"},
		"a follower that lacks pods":   {strings.Replace(scaled, "minMember: 1", "minMember: 2", 1) + waits, "r1-a"},
		"one that shares another rule": {strings.Replace(scaled, "shared-required", "shared-preferred", 1) + waits, "r1-a"},
		"one of another base":          {strings.Replace(scaled, "base-gang: base", "base-gang: x", 1) + waits, "r1-a"},
	} {
		table := set(t, cluster+test.more)
		answer, err := table.Take(t.Context(), turnOf(t, table, "base"), 0)
		require.NoError(t, err)
		got := answer.Nodes["base-0"]
		assert.True(t, strings.HasPrefix(got, test.want), "%s: base is on %q, want %s", name, got, test.want)
	}
}

func TestRoomIsKeptForFollowers(t *testing.T) {
	table := set(t, topology+nodes(4, "r1-a", "r2-a", "r2-b")+
		podGroup("base", annotated(follows), "minMember: 1, "+oneRack, "")+pods("base", "", 4, "", "")+
		podGroup("scaled", annotated(follows), "minMember: 1, "+oneRack, "")+pods("scaled", "", 4, "", "")+
		podGroup("third", "", "minMember: 2", "")+pods("third", "", 4, "", "", "")+
		podGroup("last", "", "minMember: 1", "")+pods("last", "", 4, "", ""))
	var got []string
	for _, name := range []string{"third", "base", "third", "scaled", "last", "third"} {
		if name == "third" {
			got = append(got, decided(t, table, turnOf(t, table, name)))
			continue
		}
		answer, err := table.Take(t.Context(), turnOf(t, table, name), 0)
		require.NoError(t, err)
		racks := slices.Collect(maps.Values(answer.Nodes))
		got = append(got, fmt.Sprint(answer.Verdict, " ", strings.Split(strings.Join(racks, ""), "-")[0]))
	}
	want := []string{"Placed third-0:r1-a third-1:r2-a", "Placed r2", "Infeasible", "Placed r2", "Placed r1", "Infeasible"}
	assert.Empty(t, cmp.Diff(want, got))
	for _, node := range table.Nodes() {
		assert.Len(t, node.GetPods(), 1, "node %s has %d pods", node.Node().Name, len(node.GetPods()))
	}
	reserved := table.Kept(turnOf(t, table, "third").Gang).Room
	assert.Empty(t, reserved, "room is kept for %v, and everybody stands", reserved)
}

func TestWokenGangs(t *testing.T) {
	near := annotated(`packtree.dev/relations: '[{"name":"n","topology":"t","level":"l/rack","near":"router"}]'`)
	table := set(t, topology+nodes(4, "r1-a", "r2-a")+
		podGroup("router", "", "minMember: 1", "")+pods("router", "", 1, "", "")+
		podGroup("near", near, "minMember: 1", "")+pods("near", "", 1, "", "")+
		podGroup("short", near, "minMember: 2", "")+pods("short", "", 1, "", "")+
		podGroup("plain", "", "minMember: 1", "")+pods("plain", "", 1, "", ""))
	waiting := map[string]turns.Turn{}
	for _, name := range []string{"near", "short", "plain"} {
		waiting[name] = turnOf(t, table, name)
		_, err := table.Decide(t.Context(), waiting[name], 0)
		require.NoError(t, err)
	}
	assert.False(t, table.Wakes(waiting["near"]), "a gang wakes that is near one that stands nowhere")
	_, err := table.Take(t.Context(), turnOf(t, table, "router"), 0)
	require.NoError(t, err)
	for name, wakes := range map[string]bool{"near": true, "short": false, "plain": false} {
		assert.Equal(t, wakes, table.Wakes(waiting[name]), "gang %s wakes", name)
		assert.False(t, table.Wakes(waiting[name]), "gang %s wakes twice", name)
	}
}

func TestWhereRelatedGangsStandIsLookedUpAnew(t *testing.T) {
	table := set(t, topology+nodes(4, "r1-a", "r2-a")+
		podGroup("base", annotated(follows), "minMember: 1", "")+pods("base", "", 1, "", "r1-a")+
		podGroup("scaled", annotated(follows), "minMember: 1", "")+pods("scaled", "", 1, "", "")+
		podGroup("short", "", "minMember: 2", "")+pods("short", "", 1, "", ""))
	turn := turnOf(t, table, "scaled")
	for range 2 {
		assert.Equal(t, "Placed scaled-0:r1-a", decided(t, table, turn))
		assert.Len(t, turn.Gang.Shared.Others, 1)
	}
	assert.Equal(t, "Incomplete", decided(t, table, turnOf(t, table, "short")), "a gang that lacks pods")
}

// A scheduler keeps rooms on two nodes, and one on a node that is gone; one of its pods stands already.
func TestRoomThatASchedulerKeeps(t *testing.T) {
	table := set(t, topology+nodes(4, "r1-a", "r1-b")+
		podGroup("of", "", "minMember: 2", "")+pods("of", "", 4, "", "r1-a", "")+
		podGroup("ask", "", "minMember: 1", "")+pods("ask", "", 4, "priority: 3,", ""))
	waiting := podOf(t, table, "of-1")
	asked := map[gang.Key]int32{}
	respecting := table.Respecting(func(asking gang.Key, priority int32) clusterview.Reserved {
		asked[asking] = priority
		return clusterview.Reserved{"r1-a": {podOf(t, table, "of-0")}, "r1-b": {waiting}, "r1-gone": {waiting}}
	})
	ask := turnOf(t, table, "ask")
	assert.Equal(t, "r1-b:1", keptNodes(respecting.Kept(ask.Gang).Room))
	assert.True(t, maps.Equal(asked, map[gang.Key]int32{{Namespace: "ns", Name: "ask"}: 3}), "asked is for %v", asked)
	for name, got := range map[string][2]string{
		"respecting it": {decided(t, respecting, ask), "Infeasible"},
		"beside it":     {decided(t, table, ask), "Placed ask-0:r1-b"},
	} {
		assert.Equal(t, got[1], got[0], name)
	}
}

func TestABudgetBoundsTheSearch(t *testing.T) {
	table := set(t, topology+nodes(4, "r1-a", "r1-b", "r2-a", "r2-b")+
		podGroup("ask", "", "minMember: 3, "+oneRack, "")+pods("ask", "", 1, "", "", "", "")+
		podGroup("wide", "", "minMember: 3, "+oneRack, "")+pods("wide", "", 3, "", "", "", ""))
	turn := turnOf(t, table, "ask")
	free, err := table.Decide(t.Context(), turn, 0)
	require.NoError(t, err)
	bounded, err := table.Decide(t.Context(), turn, 1)
	require.NoError(t, err)
	if free.Verdict != "Placed" || free.Steps <= bounded.Steps {
		t.Errorf("%s takes %d steps, and %s %d", free.Verdict, free.Steps, bounded.Verdict, bounded.Steps)
	}
	tried, err := table.Try(t.Context(), turnOf(t, table, "wide"))
	if err != nil || tried.Message != "" || tried.Verdict != "Infeasible" {
		t.Errorf("a trial says %s %q, %v", tried.Verdict, tried.Message, err)
	}
}

func TestWhereGangsStand(t *testing.T) {
	table := set(t, topology+nodes(4, "r1-a", "r2-a")+
		podGroup("stands", "", "minMember: 1, "+oneRack, "")+pods("stands", "", 1, "", "r2-a", "")+
		podGroup("short", "", "minMember: 2, "+oneRack, "")+pods("short", "", 1, "", "r1-a")+
		podGroup("wrong", "", "minMember: 1, topologyConstraint: {topology: none, requiredTopologyLevel: l}", "")+
		pods("wrong", "", 1, "", "r1-a"))
	for name, want := range map[string]string{
		"stands": "1 placed in [r2]", "short": "1 placed in [r1]", "wrong": "Invalid",
	} {
		answer, err := table.Stand(turnOf(t, table, name))
		require.NoError(t, err)
		got := fmt.Sprintf("%d placed in %v", answer.Groups[0].Placed, answer.Groups[0].Domains["l/rack"])
		if answer.Verdict == "Invalid" {
			got = answer.Verdict
		}
		if got != want || len(answer.Nodes) > 0 {
			t.Errorf("gang %s: %s, and %v", name, got, answer.Nodes)
		}
	}
	assert.Equal(t, "Invalid", decided(t, table, turnOf(t, table, "wrong")), "a gang that is wrong")
}

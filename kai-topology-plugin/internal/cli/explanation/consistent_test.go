package explanation_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

// drawnGang is a gang of a drawn cluster, with how many of its pods there are of each sort.
type drawnGang struct {
	text                     string
	standing, pending, gated int
}

// drawGang draws a gang of pods that run, wait, are held back or are on their way out, for nodes with free GPUs.
func drawGang(t *rapid.T, name string, free map[string]int) drawnGang {
	number := func(what string, low, high int) int { return rapid.IntRange(low, high).Draw(t, what) }
	g := drawnGang{}
	gpus, priority := number("GPUs", 1, 4), number("priority", 0, 2)
	leaves := []string{""}
	spec := fmt.Sprintf("minMember: %d", number("minimum", 1, 3))
	if number("leaves", 0, 3) == 0 {
		leaves = []string{"a", "b"}
		spec = fmt.Sprintf("subGroups: [{name: up, minSubGroup: 1}, {name: a, parent: up, minMember: %d}, "+
			"{name: b, minMember: 1}]", number("minimum of a", 1, 2))
	}
	topology := rapid.SampledFrom([]string{"", "", "t, requiredTopologyLevel: l/rack", "u, requiredTopologyLevel: l/block",
		"t, preferredTopologyLevel: l/rack", "none, requiredTopologyLevel: l/rack"}).Draw(t, "topology")
	if topology != "" {
		spec += ", topologyConstraint: {topology: " + topology + "}"
	}
	g.text = strings.Replace(podGroup(name, "", 1), "minMember: 1", spec, 1)
	for i := range number("pods", 0, 4) {
		leaf := rapid.SampledFrom(leaves).Draw(t, "leaf")
		more := fmt.Sprintf("priority: %d, ", priority) + rapid.SampledFrom([]string{"", "", "nodeSelector: {disk: ssd}, ",
			"tolerations: [{operator: Exists}], "}).Draw(t, "wishes")
		kind := rapid.SampledFrom([]string{
			"pending", "pending", "pending", "standing", "gated", "leaving", "done",
		}).Draw(t, "kind")
		on, node := "", rapid.SampledFrom(slices.Sorted(maps.Keys(free))).Draw(t, "node")
		if kind == "standing" && free[node] >= gpus {
			free[node] -= gpus
			on = node
		}
		text := strings.ReplaceAll(testsupport.Pods(name, leaf, gpus, more, on), leaf+"-0", fmt.Sprint(leaf, "-", i))
		switch {
		case on != "":
			g.standing++
		case kind == "gated":
			g.gated++
			text = strings.Replace(text, "spec: {", "spec: {schedulingGates: [{name: later}], ", 1)
		case kind == "leaving":
			text = strings.Replace(text, "metadata: {", `metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", `, 1)
		case kind == "done":
			text = strings.Replace(text, "spec: {", "status: {phase: Failed}\nspec: {", 1)
		default:
			g.pending++
		}
		g.text += text
	}
	return g
}

// drawGangs draws a cluster of nodes under two topologies, and gangs for them.
func drawGangs(t *rapid.T) (text string, gangs map[string]drawnGang) {
	text = racks()
	text = strings.ReplaceAll(text, "l/rack: r1}", "l/rack: r1, l/block: b, disk: ssd}")
	text = strings.ReplaceAll(text, "l/rack: r2}", "l/rack: r2, l/block: b}")
	if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
		text = strings.Replace(text, "\nstatus:", "\nspec: {taints: [{key: theirs, effect: NoSchedule}]}\nstatus:", 1)
	}
	text += oneLevel("u", "l/block")
	free := map[string]int{"n1": 4, "n2": 4}
	gangs = map[string]drawnGang{}
	for i := range rapid.IntRange(1, 4).Draw(t, "gangs") {
		name := fmt.Sprint("g", i)
		gangs[name] = drawGang(t, name, free)
		text += gangs[name].text
	}
	return text, gangs
}

// undecided are all gangs of a cluster as they stand.
func undecided(t *testing.T, cluster *inventory.Inventory) []*explanation.Gang {
	t.Helper()
	table, err := turns.Set(t.Context(), cluster)
	require.NoError(t, err)
	gangs, err := explanation.Standing(cluster, table)
	require.NoError(t, err)
	return gangs
}

// completed are all gangs of a cluster with what is decided about each.
func completed(t *testing.T, cluster *inventory.Inventory) []*explanation.Gang {
	t.Helper()
	gangs := undecided(t, cluster)
	if left, err := explanation.Decide(t.Context(), cluster, gangs, func() bool { return false }); err != nil || left > 0 {
		t.Fatalf("%d gangs are left, error %v", left, err)
	}
	return gangs
}

// shown is a cluster as text.
func shown(t *testing.T, cluster *inventory.Inventory) string {
	t.Helper()
	text, err := json.Marshal([]any{cluster.Nodes, cluster.Pods, cluster.PodGroups, cluster.Topologies})
	require.NoError(t, err)
	return string(text)
}

// An explanation of one gang equals its part in the explanation of all gangs, and does not contradict another part or
// the cluster, which stays as it is.
func TestWhatIsSaidOfAGangIsConsistent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text, drawn := drawGangs(rt)
		cluster := testsupport.Inventory(t, text)
		before := shown(t, cluster)
		gangs := completed(t, cluster)
		for i, g := range gangs {
			diff := cmp.Diff(g, only(t, text, g.Name))
			assert.Empty(rt, diff, "of %s is said something else alone (-of all +alone):\n%s\n%s", g.Name, diff, text)
			if was := drawn[g.Name]; g.Scheduled != was.standing || g.Pending != was.pending || g.Gated != was.gated {
				rt.Errorf("%s has %d pods that stand, %d that wait and %d behind gates: %+v",
					g.Name, was.standing, was.pending, was.gated, g)
			}
			for _, wrong := range contradictions(g, gangs[:i]) {
				rt.Errorf("%s: %s\n%s", g.Name, wrong, text)
			}
		}
		assert.Empty(rt, cmp.Diff(before, shown(t, cluster)), "the cluster was changed (-before +after)")
	})
}

// contradictions says what cannot be true together of a gang, before which others are decided.
func contradictions(g *explanation.Gang, earlier []*explanation.Gang) (found []string) {
	wrong := func(is bool, what string) {
		if is {
			found = append(found, fmt.Sprintf("%s: %+v", what, g))
		}
	}
	wrong((g.Decision == nil) != (g.State == explanation.Runs), "it is decided if and only if it does not run")
	wrong(len(g.Nodes) != g.Scheduled, "each pod that stands has a node")
	wrong(g.State == explanation.Runs && g.Pending+g.Gated > 0, "none of its pods waits when it runs")
	if len(g.SubGroups) > 0 {
		wrong(g.SubGroups[0].Name != "" || g.SubGroups[0].Depth != 0, "the first group is the gang")
		invalid := g.Decision != nil && g.Decision.Verdict == "Invalid" // Then nothing is said of where groups stand.
		wrong(g.SubGroups[0].Scheduled != g.Scheduled && !invalid, "all its pods stand in it")
	}
	for _, group := range g.SubGroups[min(1, len(g.SubGroups)):] {
		depth := map[string]int{"up": 1, "a": 2, "b": 1}[group.Name]
		wrong(group.Depth != depth, "the depth of "+group.Name)
	}
	if g.Decision == nil {
		wrong(g.Behind != nil || g.Remedies != nil, "nothing is said of what is not decided")
		return found
	}
	placed := g.Decision.Verdict == "Placed"
	wrong(len(g.Decision.Assignments) > g.Pending, "no more pods get a node than wait")
	wrong(g.Behind != nil && (!placed || g.State != explanation.Waits), "only who would fit waits behind others")
	wrong(g.Remedies != nil && (placed || g.State != explanation.Waits), "only who does not fit is helped")
	wrong(len(g.Decision.Reasons) > 0 && g.Decision.Verdict == "Incomplete", "what lacks pods has no place to lack")
	for _, name := range g.Behind {
		goesFirst := slices.ContainsFunc(earlier, func(other *explanation.Gang) bool {
			return "ns/"+other.Name == name && other.Pending > 0
		})
		wrong(!goesFirst, name+" does not go first")
	}
	return found
}

// A gang that waits behind others is the next when they are gone, and one that does not gets its room after them.
func TestAGangBehindOthersIsNextWithoutThem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text, drawn := drawGangs(rt)
		gangs := completed(t, testsupport.Inventory(t, text))
		for i, g := range gangs {
			if g.Decision == nil || g.State != explanation.Waits || g.Decision.Verdict != "Placed" {
				continue
			}
			without := testsupport.Inventory(t, text)
			for _, other := range gangs[:i] {
				pending := drawn[other.Name].pending > 0
				if pending {
					without.Pods = slices.DeleteFunc(without.Pods, waitsFor(other.Name))
				}
			}
			report, err := explanation.Of(t.Context(), without, "ns", explanation.Target{Kind: "PodGroup", Name: g.Name})
			require.NoError(t, err)
			if report.Gangs[0].Behind != nil || report.Gangs[0].Decision.Verdict != "Placed" {
				rt.Errorf("%s has nobody before it, and is behind %v\n%s", g.Name, report.Gangs[0].Behind, text)
			}
			if got := fitsLast(t, testsupport.Inventory(t, text), g.Name); got != (g.Behind == nil) {
				rt.Errorf("%s is behind %v, and fits after the others is %t\n%s", g.Name, g.Behind, got, text)
			}
		}
	})
}

// waitsFor reports whether a pod of a gang has no node.
func waitsFor(name string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == "" && pod.Annotations["pod-group-name"] == name
	}
}

// fitsLast reports whether a gang fits when all that go before it have taken the nodes that they get.
func fitsLast(t *testing.T, cluster *inventory.Inventory, name string) bool {
	t.Helper()
	table, err := turns.Set(t.Context(), cluster)
	require.NoError(t, err)
	table = table.KeepingRoom()
	for _, turn := range turns.In(cluster) {
		answer, err := table.Take(t.Context(), turn, 0)
		require.NoError(t, err)
		if turn.Rank.Gang.Name == name {
			return turns.Placed(answer)
		}
	}
	t.Fatalf("there is no gang %s", name)
	return false
}

// What is printed for programs has lists where nothing is in them, rather than nothing.
func TestListsWithoutAnythingArePrinted(t *testing.T) {
	cluster := testsupport.Inventory(t, podCliqueSet("set")+podGroup("g", "", 1)+pods("g", "g", 1, "", ""))
	for name, want := range map[string]string{
		"set": `"gangs":[],"notes":["PodCliqueSet set has no PodGroup yet`,
		"g":   `"notes":[]}`,
	} {
		report, err := explanation.Of(t.Context(), cluster, "ns", explanation.Target{Name: name})
		require.NoError(t, err)
		text, err := json.Marshal(report)
		require.NoError(t, err)
		assert.Contains(t, string(text), want, "of %s is printed %s", name, text)
	}
}

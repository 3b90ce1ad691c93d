package explanation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

// racks are two racks of one zone, with a node of four GPUs each.
func racks() string {
	text := `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: l/zone}, {nodeLabel: l/rack}]}
`
	for i := 1; i <= 2; i++ {
		text += fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: n%[1]d, labels: {l/zone: z, l/rack: r%[1]d}}\n"+
			"status: {allocatable: {nvidia.com/gpu: \"4\", pods: \"9\"}}\n", i)
	}
	return text
}

// nested is a gang of a subgroup that has a subgroup of three pods, which needs one rack.
const nested = `---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, namespace: ns, uid: g, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  topologyConstraint: {topology: t, preferredTopologyLevel: l/zone}
  subGroups:
  - {name: outer, minSubGroup: 1}
  - {name: inner, parent: outer, minMember: 3, topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}}
status: {conditions: [
  {type: RepairPlanned, status: 'True', reason: Waits, message: a pod is moved, lastTransitionTime: "2026-01-01T00:00:00Z"}]}
`

// only is the explanation of the only gang of an object.
func only(t *testing.T, text, target string) *explanation.Gang {
	t.Helper()
	report, err := explanation.Of(t.Context(), testsupport.Inventory(t, text), "ns", explanation.Target{Name: target})
	require.NoError(t, err)
	require.Len(t, report.Gangs, 1, "gangs: %v", report.Notes)
	return report.Gangs[0]
}

func TestWhereTheGroupsOfAGangStandAndWhyTheRestWaits(t *testing.T) {
	g := only(t, racks()+nested+testsupport.Pods("g", "inner", 2, "", "n1", "", ""), "g")
	at := map[string][]string{"l/zone": {"z"}, "l/rack": {"z/r1"}}
	groups := []explanation.SubGroup{
		{Scheduled: 1, Minimum: 3, Topology: "t", Preferred: "l/zone", Domains: at},
		{Name: "outer", Depth: 1, Scheduled: 1, Minimum: 3},
		{Name: "inner", Depth: 2, Scheduled: 1, Minimum: 3, Topology: "t", Required: "l/rack", Domains: at},
	}
	assert.Empty(t, cmp.Diff(groups, g.SubGroups), "groups (-want +got)")
	assert.Empty(t, cmp.Diff(map[string]string{"ginner-0": "n1"}, g.Nodes), "nodes (-want +got)")
	assert.Equal(t, "a pod is moved", g.Repair, "of its repair is said")
	reasons := []explanation.Reason{{
		Group: "inner", Level: "l/rack", Domain: "z/r1", Fit: 1, Wanted: 2,
		Short: []explanation.Shortage{{Resource: "nvidia.com/gpu", Amount: 2, Needed: 4, Free: 2}},
	}}
	for i := range g.Decision.Reasons {
		assert.NotEmpty(t, g.Decision.Reasons[i].Sentence, "reason %d has no sentence", i)
		g.Decision.Reasons[i].Sentence = ""
	}
	assert.Empty(t, cmp.Diff(reasons, g.Decision.Reasons), "reasons (-want +got)")
}

func TestNodesThatFiltersKeepAGangOffAreCounted(t *testing.T) {
	tainted := strings.ReplaceAll(racks(), "\nstatus:", "\nspec: {taints: [{key: theirs, effect: NoSchedule}]}\nstatus:")
	g := only(t, tainted+podGroup("g", "", 1)+pods("g", "g", 1, "", ""), "g")
	want := []explanation.Exclusion{{Reason: "taint theirs:NoSchedule", Nodes: 2}}
	assert.Empty(t, cmp.Diff(want, g.Decision.Reasons[0].Excluded), "excluded (-want +got)")
}

func TestHowAGangIsDoing(t *testing.T) {
	gated := strings.Replace(pods("g", "g", 1, "", ""), "spec: {", "spec: {schedulingGates: [{name: later}], ", 1)
	finished := strings.Replace(pods("g", "g", 1, "", "n1"), "spec: {", "status: {phase: Succeeded}\nspec: {", 1)
	broken := strings.Replace(podGroup("g", "", 1), "minMember: 1", "minMember: 1, topologyConstraint: {topology: none, "+
		"requiredTopologyLevel: l/rack}", 1)
	for name, c := range map[string]struct {
		cluster string
		want    explanation.State
	}{
		"all that it needs stand, and one is behind a gate": {podGroup("g", "", 1) + pods("g", "g", 1, "", "n1") +
			strings.ReplaceAll(gated, "g-0", "g-1"), explanation.RunsPartly},
		"one is behind a gate, and another one waits": {podGroup("g", "", 1) + pods("g", "g", 1, "", "n1", "") +
			strings.ReplaceAll(gated, "g-0", "g-2"), explanation.RunsPartly},
		"one is behind a gate, and none waits": {podGroup("g", "", 1) + gated, explanation.Waits},
		"it stands, and its topology is gone":  {broken + pods("g", "g", 1, "", "n1"), explanation.Waits},
		"one has done its work, and the other runs": {podGroup("g", "", 2) + finished +
			strings.ReplaceAll(pods("g", "g", 1, "", "n1"), "g-0", "g-1"), explanation.Runs},
		"its spec cannot be read": {strings.Replace(podGroup("g", "", 1), "minMember: 1",
			"subGroups: [{name: a, parent: a}]", 1), explanation.Waits},
	} {
		t.Run(name, func(t *testing.T) {
			g := only(t, node+c.cluster, "g")
			assert.Equal(t, c.want, g.State, "it %s, want %s: %+v", g.State, c.want, g)
		})
	}
}

func TestPodsOfAGangWithADeletedTopologyStay(t *testing.T) {
	inLeaf := func(leaf string) string { return ", labels: {kai.scheduler/subgroup-name: " + leaf + "}" }
	tree := "topologyConstraint: {topology: none, requiredTopologyLevel: l/rack}, subGroups: [{name: up, minSubGroup: 1}, " +
		"{name: a, parent: up, minMember: 1}, {name: b, minMember: 2}]"
	g := only(t, node+strings.Replace(podGroup("g", "", 2), "minMember: 2", tree, 1)+
		pods("a", "g", 1, inLeaf("a"), "n1", "")+pods("b", "g", 1, inLeaf("b"), "n1"), "g")
	got := map[string]int{}
	for _, group := range g.SubGroups {
		got[group.Name] = group.Scheduled
	}
	assert.Empty(t, cmp.Diff(map[string]int{"": 2, "up": 1, "a": 1, "b": 1}, got), "pods that stand (-want +got)")
}

// standing gives the state of each gang, and the outcome of each decision.
func standing(gangs []*explanation.Gang) []string {
	var said []string
	for _, g := range gangs {
		line := fmt.Sprintf("%s %s", g.Name, g.State)
		if g.Decision != nil {
			line += fmt.Sprintf(" %s, %d remedies, behind %v", g.Decision.Verdict, len(g.Remedies), g.Behind)
		}
		said = append(said, line)
	}
	return said
}

func TestGangsAreCompletedUntilThereIsEnough(t *testing.T) {
	cluster := testsupport.Inventory(t, racks()+podGroup("a", "", 1)+pods("a", "a", 1, "", "n1")+
		podGroup("b", "", 2)+pods("b", "b", 4, "", "", "")+podGroup("c", "", 2)+pods("c", "c", 3, "", "", "")+
		podGroup("d", "", 1)+pods("d", "d", 4, "", "")+podGroup("e", "", 1)+pods("e", "e", 1, "", ""))
	gangs := undecided(t, cluster)
	want := []string{"a Runs", "b Waits", "c Waits", "d Waits", "e Waits"}
	assert.Empty(t, cmp.Diff(want, standing(gangs)), "before (-want +got)")
	asked := 0
	left, err := explanation.Decide(t.Context(), cluster, gangs, func() bool { asked++; return asked > 3 })
	assert.Equal(t, 1, left)
	require.NoError(t, err)
	want = []string{"a Runs", "b Waits Infeasible, 2 remedies, behind []", "c Waits Placed, 0 remedies, behind []",
		"d Waits Placed, 0 remedies, behind [ns/c]", "e Waits"}
	assert.Empty(t, cmp.Diff(want, standing(gangs)), "after (-want +got)")
	for _, pod := range cluster.Pods {
		if pod.Name != "a-0" && pod.Spec.NodeName != "" {
			t.Errorf("pod %s was put on node %s of the cluster that was given", pod.Name, pod.Spec.NodeName)
		}
	}
}

func TestGangsThatGoFirstAreNamedOnlyIfTheyTakeTheRoom(t *testing.T) {
	one := func(name string, gpus int) string { return podGroup(name, "", 1) + pods(name, name, gpus, "", "") }
	reserved := func(name, on, reason string) string {
		return podGroup(name, "", 1) + fmt.Sprintf("status: {reservations: [{reason: %s, nodes: [%s]}]}\n", reason, on) +
			pods(name, name, 8, "", "")
	}
	for name, c := range map[string]struct {
		before string
		want   []string
	}{
		"one does not fit itself":      {one("a", 8) + one("b", 4), []string{"ns/b"}},
		"both are needed to fill it":   {one("a", 2) + one("b", 2), []string{"ns/a", "ns/b"}},
		"one leaves room for this one": {one("a", 1), nil},

		"the room is reserved for one that does not fit yet": {reserved("a", "n1", "Overtaken"), []string{"ns/a"}},
		"another node is reserved":                           {reserved("a", "n2", "Overtaken"), nil},
		"the room is made by preemption":                     {reserved("a", "n1", "Preempting"), nil},
		"it is reserved for one that ranks lower":            {reserved("z", "n1", "Overtaken"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(c.want, only(t, node+c.before+one("g", 3), "g").Behind), "behind (-want +got)")
		})
	}
}

// A pod without a gang is one by itself, whether it waits or stands; a PodGroup of a manifest has no UID yet.
func TestAPodByItselfIsCalledOne(t *testing.T) {
	undated := strings.Replace(podGroup("g", "", 1), "uid: g, ", "", 1)
	for name, c := range map[string]struct {
		cluster, target string
		want            bool
	}{
		"a pod that waits":                   {pods("p", "", 1, "", ""), "p-0", true},
		"a pod that stands":                  {pods("p", "", 1, "", "n1"), "p-0", true},
		"a gang of a manifest":               {undated + pods("g", "g", 1, "", ""), "g", false},
		"a gang of a manifest, without pods": {undated, "g", false},
	} {
		if g := only(t, node+c.cluster, c.target); g.Pod != c.want || len(g.SubGroups) == 0 {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

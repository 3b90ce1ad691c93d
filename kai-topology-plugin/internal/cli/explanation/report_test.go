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
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// podGroup is a PodGroup of a cluster, with an owner if one is named.
func podGroup(name, owner string, minimum int) string {
	owners := ""
	if owner != "" {
		owners = fmt.Sprintf(", ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, name: %s, uid: u, "+
			"controller: true}]", owner)
	}
	return fmt.Sprintf("---\napiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\n"+
		"metadata: {name: %s, namespace: ns, uid: %[1]s, creationTimestamp: \"2026-01-01T00:00:00Z\"%[2]s}\n"+
		"spec: {minMember: %[3]d}\n",
		name, owners, minimum)
}

// pods of a gang, or of none, ask for GPUs; one stands on each node that is named, and one waits where the name is
// empty.
func pods(name, of string, gpus int, more string, on ...string) string {
	var all strings.Builder
	for i, node := range on {
		fmt.Fprintf(&all, `---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s-%[2]d, namespace: ns, uid: %[1]s-%[2]d, annotations: {pod-group-name: "%[3]s"}%[4]s}
spec: {nodeName: "%[5]s", containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: "%[6]d"}, limits: {nvidia.com/gpu: "%[6]d"}}}]}
`, name, i, of, more, node, gpus)
	}
	return all.String()
}

const node = `
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {nvidia.com/gpu: "4", pods: "9"}}
`

// explained gives, for each gang, its state, the decision, the gangs before it and the number of tried remedies.
func explained(t *testing.T, text, target string) []string {
	t.Helper()
	cluster := testsupport.Inventory(t, text)
	asked, err := explanation.ParseTarget([]string{target})
	require.NoError(t, err)
	report, err := explanation.Of(t.Context(), cluster, "ns", asked)
	if err != nil {
		return []string{err.Error()}
	}
	said := report.Notes
	for _, gang := range report.Gangs {
		line := fmt.Sprintf("%s %s %d/%d", gang.Name, gang.State, gang.Scheduled, gang.Pending)
		if gang.Pod {
			line = "pod " + line
		}
		if gang.Decision != nil {
			line += " " + gang.Decision.Verdict
		}
		if gang.Behind != nil {
			line += fmt.Sprint(" behind ", gang.Behind)
		}
		if gang.Remedies != nil {
			line += " with remedies"
		}
		said = append(said, line)
	}
	return said
}

func TestWhatIsExplained(t *testing.T) {
	set := "---\napiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: set, namespace: ns}\n"
	owned := `, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: j, controller: true}]`
	var waiting, many strings.Builder
	for i := range 5 {
		name := fmt.Sprint("w", i)
		waiting.WriteString(podGroup(name, "set", 1) + pods(name, name, 8, "", ""))
	}
	var fitting strings.Builder
	for i, of := range [][]string{{""}, {"n1"}, nil, {"n1", ""}} {
		name := fmt.Sprint("f", i)
		fitting.WriteString(podGroup(name, "set", 1) + pods(name, name, 1, "", of...))
	}
	for i := range 6 {
		many.WriteString(podGroup(fmt.Sprint("g", i), "", 1))
	}
	for name, test := range map[string]struct {
		cluster, target string
		want            []string
	}{
		"a gang that runs": {podGroup("g", "", 1) + pods("g", "g", 1, "", "n1"), "g", []string{"g Runs 1/0"}},
		"a gang of which more waits": {
			podGroup("g", "", 1) + pods("g", "g", 4, "", "n1", ""), "g", []string{"g RunsPartly 1/1 Placed"},
		},
		"a gang that lacks a pod": {
			podGroup("g", "", 2) + pods("g", "g", 1, "", ""), "g", []string{"g Waits 0/1 Incomplete"},
		},
		"a gang that fits": {podGroup("g", "", 1) + pods("g", "g", 4, "", ""), "g", []string{"g Waits 0/1 Placed"}},
		"a gang behind another": {
			podGroup("a", "", 1) + pods("a", "a", 4, "", "") + podGroup("g", "", 1) + pods("g", "g", 4, "", ""), "g",
			[]string{"g Waits 0/1 Placed behind [ns/a]"},
		},
		"a gang before another": {
			podGroup("a", "", 1) + pods("a", "a", 4, "", "") + podGroup("g", "", 1) + pods("g", "g", 4, "", ""), "a",
			[]string{"a Waits 0/1 Placed"},
		},
		"two gangs that both fit": {
			podGroup("a", "", 1) + pods("a", "a", 2, "", "") + podGroup("g", "", 1) + pods("g", "g", 2, "", ""), "g",
			[]string{"g Waits 0/1 Placed"},
		},
		"one that goes first and does not fit either": {
			podGroup("a", "", 1) + pods("a", "a", 8, "", "") + podGroup("g", "", 1) + pods("g", "g", 4, "", ""), "g",
			[]string{"g Waits 0/1 Placed"},
		},
		"remedies for three gangs of a workload": {set + waiting.String() + pods("x", "", 1, "", "n1"), "pcs/set", []string{
			"w0 Waits 0/1 Infeasible with remedies", "w1 Waits 0/1 Infeasible with remedies",
			"w2 Waits 0/1 Infeasible with remedies", "w3 Waits 0/1 Infeasible", "w4 Waits 0/1 Infeasible",
		}},
		"gangs that need no remedy take none from the others": {
			set + fitting.String() + waiting.String(), "pcs/set", []string{
				"f0 Waits 0/1 Placed", "f1 Runs 1/0", "f2 Waits 0/0 Incomplete", "f3 RunsPartly 1/1 Placed",
				"w0 Waits 0/1 Infeasible with remedies", "w1 Waits 0/1 Infeasible with remedies",
				"w2 Waits 0/1 Infeasible with remedies", "w3 Waits 0/1 Infeasible", "w4 Waits 0/1 Infeasible",
			},
		},
		"a workload without a gang": {set, "set", []string{
			"PodCliqueSet set has no PodGroup yet: look at its conditions, and whether the controller " +
				"that creates the next object runs",
		}},
		"a pod of a gang":      {podGroup("g", "", 1) + pods("p", "g", 1, "", "n1"), "pod/p-0", []string{"g Runs 1/0"}},
		"a pod without a gang": {pods("p", "", 1, "", ""), "p-0", []string{"pod p-0 Waits 0/1 Placed"}},
		"a pod that will have a gang": {pods("p", "", 1, owned, ""), "p-0", []string{
			"pod p-0 does not name its PodGroup yet (annotation pod-group-name): the pod grouper does that; is it running?",
		}},
		"a pod whose gang is not there": {pods("p", "g", 1, "", ""), "p-0", []string{
			"pod p-0 waits for PodGroup ns/g, which does not exist",
		}},
		"a name that nothing has": {podGroup("other", "", 1) + podGroup("train", "", 1), "podgroup/trai", []string{
			`namespace ns has no PodGroup "trai": it has podgroup/train, podgroup/other`,
		}},
		"a name among many": {many.String(), "x", []string{`namespace ns has no object "x": it has podgroup/g0, ` +
			"podgroup/g1, podgroup/g2, podgroup/g3, podgroup/g4 and 1 more"}},
		"a name of which a part is there": {podGroup("other", "", 1) + podGroup("train", "", 1), "podgroup/train-0", []string{
			`namespace ns has no PodGroup "train-0": it has podgroup/train, podgroup/other`,
		}},
		"a name among five": {strings.Replace(many.String(), podGroup("g5", "", 1), "", 1), "x", []string{`namespace ns ` +
			`has no object "x": it has podgroup/g0, podgroup/g1, podgroup/g2, podgroup/g3, podgroup/g4`}},
		"a workload called like the gang of another": {strings.ReplaceAll(set, "set", "g") + podGroup("g", "", 1), "pcs/g", []string{
			"PodCliqueSet g has no PodGroup yet: look at its conditions, and whether the controller " +
				"that creates the next object runs",
		}},
		"a gang that runs, of which more is behind another": {
			podGroup("a", "", 1) + pods("a", "a", 3, "", "") + podGroup("g", "", 1) + pods("g", "g", 1, "", "n1", ""), "g",
			[]string{"g RunsPartly 1/1 Placed"},
		},
		"a name in an empty namespace": {"", "x", []string{
			`namespace ns has no object "x": it has none that could be explained. Is it the right namespace (-n)?`,
		}},
		"an owner of which only the name is known": {podGroup("g", "set", 1), "pcs/set", []string{
			`namespace ns has no PodCliqueSet "set": it has none that could be explained. Is it the right namespace (-n)?`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(test.want, explained(t, node+test.cluster, test.target)), "-want +got")
		})
	}
}

func TestHowClosePlacedIsSaid(t *testing.T) {
	for want, placement := range map[string]scheduling.PlacementStatus{
		"in one domain of each level that it prefers, the fewest possible when it was placed": {
			Domains: 1, Fewest: scheduling.FewestYes,
		},
		"in 2 domains of the levels that it prefers; whether fewer were possible when it was placed is not proved": {
			Domains: 2,
		},
	} {
		assert.Equal(t, want, explanation.PlacementText(&placement))
	}
}

func TestHowTargetsAreNamed(t *testing.T) {
	for words, want := range map[string]explanation.Target{
		"train":                         {Name: "train"},
		"pod/p":                         {Kind: "Pod", Name: "p"},
		"Pods p":                        {Kind: "Pod", Name: "p"},
		"podgroups.scheduling.run.ai/g": {Kind: "PodGroup", Name: "g"},
		"dgd/d":                         {Kind: "DynamoGraphDeployment", Name: "d"},
		"job/j":                         {},
		"pod/":                          {},
		"pod/p/q":                       {},
		"pod p q":                       {},
	} {
		got, err := explanation.ParseTarget(strings.Fields(words))
		assert.Equal(t, want, got, "%s is %+v, error %v", words, got, err)
		assert.Equal(t, want.Name == "", err != nil, "%s is %+v, error %v", words, got, err)
	}
}

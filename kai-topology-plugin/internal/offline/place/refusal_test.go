package place_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parentWithMinMemberOf returns a PodGroup with the field of a leaf on a parent, and a Topology that does not exist.
func parentWithMinMemberOf(metadata string) string {
	return `
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: wrong` + metadata + `}
spec:
  subGroups:
    - {name: workers, minMember: 2, topologyConstraint: {topology: none, requiredTopologyLevel: rack}}
    - {name: decode, parent: workers, minMember: 2}
`
}

func TestEverythingThatIsWrongWithAPodGroupIsSaid(t *testing.T) {
	for name, test := range map[string]struct{ stdin, want string }{
		"on a parent that also names no Topology": {
			parentWithMinMemberOf(""),
			`spec.subGroups[0].minMember: Invalid value: 2: is for groups of pods, and other groups have this one as their parent: use minSubGroup; ` +
				`spec.subGroups[0].topologyConstraint.topology: Invalid value: "none": no Topology has this name: create it, or name another`,
		},
		"and less of one that the cluster has": {
			parentWithMinMemberOf(`, creationTimestamp: "2026-01-01T00:00:00Z"`),
			`spec.subGroups[0].topologyConstraint.topology: Invalid value: "none": no Topology has this name: create it, or name another`,
		},
		"both minima, which no API server would take": {
			`
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: wrong}
spec:
  minMember: 1
  minSubGroup: 1
  subGroups: [{name: decode, minMember: 2}]
`,
			`spec.minSubGroup: Invalid value: 1: minMember and minSubGroup exclude each other`,
		},
		"a Topology with a level twice": {
			`
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: network}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: rack}]}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: wrong}
spec:
  minMember: 1
  topologyConstraint: {topology: network, requiredTopologyLevel: rack}
`,
			`spec.topologyConstraint.topology: Invalid value: "network": the spec.levels of this Topology are wrong: "rack" stands there twice`,
		},
		"a gang that needs more pods to go on than to start": {
			`
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: wrong, annotations: {packtree.dev/min-running: '{"decode":3}'}}
spec: {subGroups: [{name: decode, minMember: 2}]}
`,
			`metadata.annotations[packtree.dev/min-running]: Invalid value: 3: must be at least 1 and at most the minMember of "decode", which is 2`,
		},
		"on parent and leaf": {
			`
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: wrong}
spec:
  subGroups:
    - {name: workers, minMember: 2}
    - {name: decode, parent: workers, minSubGroup: 1}
    - {name: prefill, parent: nobody, minMember: 1}
`,
			`spec.subGroups[2].parent: Invalid value: "nobody": no subGroup has this name; ` +
				`spec.subGroups[1].minSubGroup: Invalid value: 1: is for groups of groups, and no subGroup has this one as its parent: use minMember; ` +
				`spec.subGroups[0].minMember: Invalid value: 2: is for groups of pods, and other groups have this one as their parent: use minSubGroup`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			done := run(t, test.stdin, "-f", "-")
			code := exitCode(done.err)
			require.Equal(t, 3, code, "exit code %d: %v\n%s", code, done.err, done.stderr)
			var decided struct {
				PodGroups []struct{ Verdict, Message string }
			}
			require.NoError(t, json.Unmarshal([]byte(done.stdout), &decided))
			assert.Empty(t, cmp.Diff(test.want, decided.PodGroups[0].Message))
			assert.Equal(t, "Invalid", decided.PodGroups[0].Verdict)
		})
	}
}

func TestWhereAGangStandsIsSaidWhateverItsVerdict(t *testing.T) {
	for verdict, waiting := range map[string]string{
		"Incomplete": "",
		"Infeasible": "spec: {containers: [{name: c, resources: {requests: {cpu: 8}}}]}",
		"Unknown": `spec:
  containers: [{name: c, resources: {requests: {cpu: 1}}}]
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a}}}`,
	} {
		pod := "---\napiVersion: v1\nkind: Pod\n" +
			"metadata: {name: %s, labels: {app: a}, annotations: {pod-group-name: g}}\n%s\n"
		manifests := `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: net}
spec: {levels: [{nodeLabel: rack}]}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {rack: r1}}, status: {allocatable: {cpu: 4}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {rack: r2}}, status: {allocatable: {cpu: 0}}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g}
spec: {minMember: 2, topologyConstraint: {topology: net, preferredTopologyLevel: rack}}
` + fmt.Sprintf(pod, "stands", "spec: {nodeName: n1, containers: [{name: c}]}")
		if waiting != "" {
			manifests += fmt.Sprintf(pod, "waits", waiting)
		}
		done := run(t, manifests, "-f", "-")
		if !strings.Contains(done.stdout, `"verdict": "`+verdict+`"`) || !strings.Contains(done.stdout, `"r1"`) {
			t.Errorf("%s: %v\n%s%s", verdict, done.err, done.stdout, done.stderr)
		}
	}
}

func TestMoreThanCanBeCountedFitsNowhere(t *testing.T) {
	container := func(amount string) string {
		return fmt.Sprintf(`{name: c, resources: {requests: {%s}}}`, amount)
	}
	for name, containers := range map[string]string{
		"of CPUs, which are counted in thousandths": container("cpu: 9223372036854775807"),
		"in the end of what there can be":           container("cpu: 1e30"),
		"together":                                  strings.Repeat(container("memory: 1Ei")+", ", 16),
	} {
		done := run(t, fmt.Sprintf(`
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 8, memory: 16Gi}}}
---
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g}, spec: {minMember: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {pod-group-name: g}}, spec: {containers: [%s]}}
`, containers), "-f", "-")
		assert.Equal(t, 3, exitCode(done.err), "%s: %v\n%s%s", name, done.err, done.stdout, done.stderr)
		assert.Contains(t, done.stdout, "can be asked for", "%s: %v\n%s%s", name, done.err, done.stdout, done.stderr)
	}
}

package check_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/offline/check"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	"packtree.dev/shared/render"
)

const cluster = "../place/testdata/cluster.yaml"

// done is what an invocation of a command did.
type done struct {
	stdout, stderr string
	code           int
}

func invoke(t *testing.T, command *cobra.Command, stdin string, args ...string) done {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	command.SetIn(strings.NewReader(stdin))
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	var coder render.Coder
	code := 0
	switch {
	case err == nil:
	case errors.As(err, &coder):
		code = coder.ExitCode()
	default:
		code = render.ExitRejected
	}
	if err != nil {
		stderr.WriteString(err.Error())
	}
	return done{stdout.String(), stderr.String(), code}
}

type usage struct{ error }

func (usage) ExitCode() int { return render.ExitUsage }

// answered is what place says about manifests, as JSON.
func answered(t *testing.T, files ...string) map[string]any {
	t.Helper()
	args := []string{"--certificate"}
	for _, file := range files {
		args = append(args, "-f", file)
	}
	placed := invoke(t, place.Command(), "", args...)
	var answer map[string]any
	require.NoError(t, json.Unmarshal([]byte(placed.stdout), &answer),
		"place exits with %d\n%s", placed.code, placed.stderr)
	return answer
}

func checked(t *testing.T, answer map[string]any, files ...string) done {
	t.Helper()
	written, err := json.Marshal(answer)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "answer.json")
	require.NoError(t, os.WriteFile(file, written, 0o600))
	var args []string
	for _, name := range append(slices.Clone(files), file) {
		args = append(args, "-f", name)
	}
	return invoke(t, check.Command(), "", args...)
}

func TestWhatPlaceSaysHolds(t *testing.T) {
	files := []string{saved(t, gangs), saved(t, dotted)}
	for _, name := range []string{"hierarchy", "order", "refused", "company", "followers", "expected", "elastic", "mended"} {
		files = append(files, filepath.Join("../place/testdata", name+".yaml"))
	}
	for _, manifests := range files {
		t.Run(filepath.Base(manifests), func(t *testing.T) {
			if got := checked(t, answered(t, cluster, manifests), cluster, manifests); got.code != 0 || got.stdout != "" {
				t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

// dotted is a gang in racks of two zones that a path orders otherwise than their names: - comes before the / of a path.
const dotted = `
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: net}, spec: {levels: [{nodeLabel: zone}, {nodeLabel: rack}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: m1, labels: {zone: z1, rack: r}}, status: {allocatable: {example.com/fpga: "1"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: m2, labels: {zone: z1-b, rack: r}}, status: {allocatable: {example.com/fpga: "1"}}}
---
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: dotted}, spec: {minMember: 2, topologyConstraint: {topology: net, preferredTopologyLevel: rack}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p1, annotations: {pod-group-name: dotted}}, spec: {containers: [{name: c, resources: {limits: {example.com/fpga: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p2, annotations: {pod-group-name: dotted}}, spec: {containers: [{name: c, resources: {limits: {example.com/fpga: 1}}}]}}
`

// gangs is four nodes in two racks, and four gangs: one that is placed, one that does not fit, one that lacks pods, and
// one that asks for more than can be counted.
const gangs = `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: net}
spec: {levels: [{nodeLabel: example.com/rack}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {example.com/rack: r1}}
status: {allocatable: {cpu: "8", example.com/gpu: "4"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {example.com/rack: r1}}
status: {allocatable: {cpu: "8", example.com/gpu: "4"}}
---
apiVersion: v1
kind: Node
metadata: {name: n3, labels: {example.com/rack: r2}}
status: {allocatable: {cpu: "8", example.com/gpu: "4"}}
---
apiVersion: v1
kind: Node
metadata: {name: n4, labels: {example.com/rack: r2, reserved: "yes"}}
spec: {taints: [{key: reserved, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", example.com/gpu: "4"}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: a, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {minMember: 2, topologyConstraint: {topology: net, requiredTopologyLevel: example.com/rack}}
---
apiVersion: v1
kind: Pod
metadata: {name: a-0, annotations: {pod-group-name: a}}
spec: {containers: [{name: c, image: c, resources: {limits: {example.com/gpu: "4"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: a-1, annotations: {pod-group-name: a}}
spec: {containers: [{name: c, image: c, resources: {limits: {example.com/gpu: "4"}}}]}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: b, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {minMember: 2, topologyConstraint: {topology: net, requiredTopologyLevel: example.com/rack}}
---
apiVersion: v1
kind: Pod
metadata: {name: b-0, annotations: {pod-group-name: b}}
spec: {containers: [{name: c, image: c, resources: {limits: {example.com/gpu: "4"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b-1, annotations: {pod-group-name: b}}
spec: {containers: [{name: c, image: c, resources: {limits: {example.com/gpu: "4"}}}]}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: c, creationTimestamp: "2026-01-03T00:00:00Z"}
spec: {minMember: 1}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: d, creationTimestamp: "2026-01-04T00:00:00Z"}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: d-0, annotations: {pod-group-name: d}}
spec: {containers: [{name: c, image: c, resources: {limits: {memory: 2Ei}}}]}
`

func saved(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// field walks into what JSON was read to.
func field(of any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			of = of.(map[string]any)[step]
		case int:
			of = of.([]any)[step]
		}
	}
	return of
}

func TestEachLieIsNamed(t *testing.T) {
	manifests := saved(t, gangs)
	for name, test := range map[string]struct {
		tamper func(answer map[string]any)
		want   string
	}{
		"a pod on a node that filters exclude": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0).(map[string]any)["assignments"] = map[string]any{"a-0": "n3", "a-1": "n4"}
			},
			`PodGroup default/a: pod "a-1" is on node "n4", which filters exclude for it`,
		},
		"a node over its capacity": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0).(map[string]any)["assignments"] = map[string]any{"a-0": "n1", "a-1": "n1"}
			},
			`PodGroup default/a: node "n1" has 4 of example.com/gpu free, and the pods placed there ask for 8`,
		},
		"a pod outside of the required domain": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0, "assignments").(map[string]any)["a-0"] = "n3"
			},
			`PodGroup default/a: the gang requires one example.com/rack, but stands in r1 and r2`,
		},
		"a pod that is missing": {
			func(answer map[string]any) {
				delete(field(answer, "podGroups", 0, "assignments").(map[string]any), "a-0")
			},
			`PodGroup default/a: the gang reaches 1 of the 2 pods that it needs`,
		},
		"a pod of nobody": {
			func(answer map[string]any) { field(answer, "podGroups", 0, "assignments").(map[string]any)["x"] = "n3" },
			`PodGroup default/a: pod "x" is no pending pod of this gang in the input`,
		},
		"a node of another cluster": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0, "assignments").(map[string]any)["a-0"] = "n9"
			},
			`PodGroup default/a: pod "a-0" is on node "n9", which the input does not have`,
		},
		"another domain": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0, "subGroups", 0, "domains").(map[string]any)["example.com/rack"] = []string{"r2"}
			},
			`PodGroup default/a: subGroup "" stands at level example.com/rack in r1, not in r2`,
		},
		"a level that is none": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0, "subGroups", 0, "domains").(map[string]any)["example.com/row"] = []string{"r2"}
			},
			`PodGroup default/a: subGroup "" has no level "example.com/row"`,
		},
		"another constraint": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0, "subGroups", 0).(map[string]any)["requiredTopologyLevel"] = ""
			},
			`PodGroup default/a: subGroup "" has another topology constraint in the input`,
		},
		"a subGroup of another input": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0, "subGroups", 0).(map[string]any)["name"] = "w"
			},
			`PodGroup default/a: subGroup "w" is not in the input`,
		},
		"a subGroup left out": {
			func(answer map[string]any) { field(answer, "podGroups", 0).(map[string]any)["subGroups"] = []any{} },
			`PodGroup default/a: subGroup "" is missing in the answer`,
		},
		"a subGroup twice": {
			func(answer map[string]any) {
				first := field(answer, "podGroups", 0, "subGroups", 0)
				field(answer, "podGroups", 0).(map[string]any)["subGroups"] = []any{first, first}
			},
			`PodGroup default/a: subGroup "" is in the answer twice`,
		},
		"a PodGroup of another input": {
			func(answer map[string]any) { field(answer, "podGroups", 0).(map[string]any)["name"] = "x" },
			`PodGroup default/x: the input has no such PodGroup`,
		},
		"a PodGroup left out": {
			func(answer map[string]any) { answer["podGroups"] = answer["podGroups"].([]any)[1:] },
			`PodGroup default/a: the answer says nothing about it`,
		},
		"a PodGroup twice": {
			func(answer map[string]any) {
				answer["podGroups"] = append(answer["podGroups"].([]any), field(answer, "podGroups", 0))
			},
			`PodGroup default/a: the answer has it twice`,
		},
		"a verdict that is none": {
			func(answer map[string]any) { field(answer, "podGroups", 0).(map[string]any)["verdict"] = "Perhaps" },
			`PodGroup default/a: there is no verdict "Perhaps"`,
		},
		"Infeasible without a certificate": {
			func(answer map[string]any) { delete(field(answer, "podGroups", 1).(map[string]any), "certificate") },
			`PodGroup default/b: it is said to be Infeasible without a certificate`,
		},
		"Infeasible where a placement exists": {
			func(answer map[string]any) {
				first := field(answer, "podGroups", 0).(map[string]any)
				first["verdict"], first["reason"], first["assignments"] = "Infeasible", "Infeasible", map[string]any{}
				first["certificate"] = field(answer, "podGroups", 1, "certificate")
			},
			`PodGroup default/a: its certificate: the certificate does not prove that no placement exists`,
		},
		"Infeasible with pods assigned": {
			func(answer map[string]any) {
				field(answer, "podGroups", 1).(map[string]any)["assignments"] = map[string]any{"b-0": "n3"}
			},
			`PodGroup default/b: it is said to be Infeasible, and has pods assigned`,
		},
		"a certificate with another figure": {
			func(answer map[string]any) {
				written, _ := json.Marshal(field(answer, "podGroups", 1, "certificate"))
				changed := strings.Replace(string(written), `"need":8`, `"need":9`, 1)
				if changed == string(written) {
					panic(changed)
				}
				field(answer, "podGroups", 1).(map[string]any)["certificate"] = json.RawMessage(changed)
			},
			`its figures are not those of the input`,
		},
		"a certificate that is none": {
			func(answer map[string]any) {
				field(answer, "podGroups", 1).(map[string]any)["certificate"] = "trust me"
			},
			`PodGroup default/b: its certificate: it cannot be read`,
		},
		"a placement with a certificate": {
			func(answer map[string]any) {
				field(answer, "podGroups", 0).(map[string]any)["certificate"] = field(answer, "podGroups", 1, "certificate")
			},
			`PodGroup default/a: it is said to be Placed, and has a certificate`,
		},
		"Incomplete with pods enough": {
			func(answer map[string]any) {
				second := field(answer, "podGroups", 1).(map[string]any)
				second["verdict"], second["reason"] = "Incomplete", "Incomplete"
			},
			`PodGroup default/b: it is said to be Incomplete, but has all that a decision needs`,
		},
		"Invalid instead of Incomplete": {
			func(answer map[string]any) {
				third := field(answer, "podGroups", 2).(map[string]any)
				third["verdict"], third["reason"] = "Invalid", "Invalid"
			},
			`PodGroup default/c: it is said to be Invalid, but is Incomplete`,
		},
		"Placed without pods": {
			func(answer map[string]any) {
				third := field(answer, "podGroups", 2).(map[string]any)
				third["verdict"], third["reason"] = "Placed", ""
			},
			`PodGroup default/c: it is said to be Placed, but is Incomplete`,
		},
		"another reason": {
			func(answer map[string]any) { field(answer, "podGroups", 1).(map[string]any)["reason"] = "" },
			`PodGroup default/b: the reason "" is not that of the verdict Infeasible`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer := answered(t, manifests)
			test.tamper(answer)
			got := checked(t, answer, manifests)
			if got.code != 3 || !strings.Contains(got.stdout, test.want) {
				t.Errorf("exit code %d\n%s%s\nwant %s", got.code, got.stdout, got.stderr, test.want)
			}
		})
	}
}

func TestWhatIsNotVerifiedTakesNoRoom(t *testing.T) {
	manifests := saved(t, gangs)
	answer := answered(t, manifests)
	delete(field(answer, "podGroups", 0, "assignments").(map[string]any), "a-0")
	got := checked(t, answer, manifests)
	assert.Contains(t, got.stdout, "PodGroup default/b: its certificate:",
		"b is taken for infeasible although nothing proves that a takes its room")
}

func TestUnusableInput(t *testing.T) {
	manifests := saved(t, gangs)
	for name, test := range map[string]struct{ answer, want string }{
		"no JSON":             {"podGroups:", "it is not what place -o json prints"},
		"no answer":           {`{"kind": "List"}`, "there is no podGroups"},
		"something after it":  {`{"podGroups": []} {}`, "something follows the answer"},
		"a field of its kind": {`{"podGroups": [{"assignments": 1}]}`, "it is not what place -o json prints"},
		"an unfinished text":  {`{"podGroups": [`, "it is not what place -o json prints"},
	} {
		t.Run(name, func(t *testing.T) {
			got := invoke(t, check.Command(), test.answer, "-f", manifests, "-f", "-")
			if got.code != render.ExitRejected || got.stdout != "" || !strings.Contains(got.stderr, test.want) {
				t.Errorf("exit code %d, %s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
	got := invoke(t, check.Command(), "", "-f", manifests, "-f", "no-such-file")
	assert.Equal(t, render.ExitRejected, got.code, "a file that is not there: exit code %d, %s", got.code, got.stderr)
	got = invoke(t, check.Command(), `{"podGroups": []}`, "-f", saved(t, "kind: Node"), "-f",
		"-")
	assert.Equal(t, render.ExitRejected, got.code, "manifests that are rejected: exit code %d, %s", got.code, got.stderr)
}

func TestWrongFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"one file":    {"-f", cluster},
		"no file":     {},
		"an argument": {"-f", cluster, "-f", "answer.json", "more"},
		"-o":          {"-f", cluster, "-f", "answer.json", "-o", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := invoke(t, check.Command(), "", args...); got.code == 0 || got.code == 3 || got.stdout != "" {
				t.Errorf("exit code %d, printed %q", got.code, got.stdout)
			}
		})
	}
}

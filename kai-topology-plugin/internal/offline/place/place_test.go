package place_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/offline/place"
	"packtree.dev/shared/golden"
	"packtree.dev/shared/render"
)

// placed is what an invocation of place did.
type placed struct {
	stdout, stderr string
	err            error
}

func run(t *testing.T, stdin string, args ...string) placed {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := place.Command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetIn(strings.NewReader(stdin))
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	return placed{stdout.String(), stderr.String(), err}
}

func exitCode(err error) int {
	var coder render.Coder
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coder):
		return coder.ExitCode()
	default:
		return 1
	}
}

// effort is what an answer took: it differs from run to run, and with every improvement of the search.
var effort = regexp.MustCompile(`("elapsedMicroseconds"|"searchNodes"): \d+`)

func TestGolden(t *testing.T) {
	for name, exit := range map[string]int{
		"hierarchy": 0, // required levels at three depths, on what a running pod left
		"order":     3, // priority, then a half-bound gang, then age: the last one finds no room
		"refused":   3, // every verdict but Placed, and each says why
		"company":   3, // gangs go where their related gangs stand, or wait
		"followers": 3, // a gang goes where its followers have room, and no other gang takes that in between
		"expected":  0, // a gang goes where the pods have room that it will have
		"relations": 3, // groups, pods and gangs apart, and one gang too many
		"tenracks":  3, // one pair in every rack; near, at most two and preferred relations, and two that wait
		"mended":    3, // a gang that stands gets back what has a place, and the rest is explained
		"elastic":   0, // pods above the minimum go where there is room, and the rest is explained
	} {
		for _, format := range []string{"json", "tree", "yaml"} {
			t.Run(name+"."+format, func(t *testing.T) {
				done := run(t, "", "-f", "testdata/cluster.yaml", "-f", "testdata/"+name+".yaml", "-o", format)
				code := exitCode(done.err)
				require.Equal(t, exit, code, "exit code %d, want %d: %v\n%s", code, exit, done.err, done.stderr)
				golden.Equal(t, filepath.Join("testdata", "golden", name+"."+format),
					effort.ReplaceAllString(done.stdout, "$1: 0"))
			})
		}
	}
}

func TestWhatIsPlacedIsTheInputOfTheNextDecision(t *testing.T) {
	first := run(t, "", "-f", "testdata/cluster.yaml", "-f", "testdata/hierarchy.yaml", "-o", "yaml")
	require.NoError(t, first.err)
	again := `---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: next}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: next-0, annotations: {pod-group-name: next}}
spec: {containers: [{name: c, image: c, resources: {requests: {example.com/gpu: "4"}, limits: {example.com/gpu: "4"}}}]}
`
	second := run(t, first.stdout+again, "-f", "testdata/cluster.yaml", "-f", "-")
	if second.err != nil {
		t.Fatal(second.err, second.stderr)
	}
	var decided struct {
		PodGroups []struct{ Assignments map[string]string }
	}
	require.NoError(t, json.Unmarshal([]byte(second.stdout), &decided))
	node := decided.PodGroups[0].Assignments["next-0"]
	if node == "" || strings.Contains(first.stdout, "nodeName: "+node+"\n") {
		t.Errorf("the next pod of four GPUs went to %q, where another uses some", node)
	}
}

func TestAnswersDoNotDependOnTheOrderOfTheInput(t *testing.T) {
	forth := run(t, "", "-f", "testdata/cluster.yaml", "-f", "testdata/order.yaml")
	back := run(t, "", "-f", "testdata/order.yaml", "-f", "testdata/cluster.yaml")
	assert.Empty(t, cmp.Diff(effort.ReplaceAllString(forth.stdout, ""), effort.ReplaceAllString(back.stdout, "")),
		"(-one way +the other)")
}

func TestRejectedInput(t *testing.T) {
	for name, test := range map[string]struct {
		stdin string
		want  string
	}{
		"an unknown field of a PodGroup": {
			"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: typo}\nspec: {minMembers: 2}",
			`-[1]: PodGroup default/typo: spec.minMembers: unknown field, did you mean "minMember"?`,
		},
		"an unknown field of a pod": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {node: n}",
			"-[1]: Pod default/p: spec.node: unknown field",
		},
		"a node that comes twice": {
			"apiVersion: v1\nkind: Node\nmetadata: {name: one}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: one}",
			"-[2]: Node one: metadata.name: the input has this object already",
		},
		"no manifest": {"just text", "-[1]: "},
	} {
		t.Run(name, func(t *testing.T) {
			done := run(t, test.stdin, "-f", "-")
			if done.stdout != "" || exitCode(done.err) != render.ExitRejected || !strings.Contains(done.stderr, test.want) {
				t.Errorf("printed %q, error %v, findings:\n%swant %s", done.stdout, done.err, done.stderr, test.want)
			}
		})
	}
}

func TestWrongFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"an unknown format": {"-f", "testdata", "-o", "table"},
		"a negative budget": {"-f", "testdata", "--search-budget", "-1"},
		"no placement":      {"-f", "testdata", "--placement", "spread"},
		"no file":           {},
		"an argument":       {"-f", "testdata", "more"},
	} {
		t.Run(name, func(t *testing.T) {
			done := run(t, "", args...)
			require.Error(t, done.err)
			assert.Empty(t, done.stdout)
		})
	}
}

func TestASpentBudgetIsNoProof(t *testing.T) {
	done := run(t, "", "-f", "testdata/cluster.yaml", "-f", "testdata/hierarchy.yaml", "--search-budget", "1")
	assert.NotContains(t, done.stdout, `"verdict": "Infeasible"`, "one step proves that a gang that fits does not")
}

func TestPodsThatAreOverAreNotDrawn(t *testing.T) {
	done := run(t, `
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {example.com/gpu: "4"}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: one}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: over, annotations: {pod-group-name: one}}
spec: {nodeName: n1, containers: [{name: c, resources: {limits: {example.com/gpu: "3"}}}]}
status: {phase: Succeeded}
---
apiVersion: v1
kind: Pod
metadata: {name: next, annotations: {pod-group-name: one}}
spec: {containers: [{name: c, resources: {limits: {example.com/gpu: "4"}}}]}
`, "-f", "-", "-o", "tree")
	want := `nodes
└── n1 (gpu 4/4)
    └── default/one: next

default/one: Placed, 1 pod given a node
`
	assert.Empty(t, cmp.Diff(want, done.stdout), "error %v, %s (-want +got)", done.err, done.stderr)
}

func TestADomainOfOneNodeOfItsNameIsDrawnOnce(t *testing.T) {
	done := run(t, `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: own-label}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: example.com/host}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {example.com/rack: r1, example.com/host: n1}}
status: {allocatable: {cpu: "1"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {example.com/rack: r2, example.com/host: n2}}
status: {allocatable: {cpu: "1"}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: one}
spec: {minMember: 1, topologyConstraint: {topology: own-label, requiredTopologyLevel: example.com/host}}
---
apiVersion: v1
kind: Pod
metadata: {name: one-0, annotations: {pod-group-name: one}}
spec: {nodeSelector: {example.com/rack: r1}, containers: [{name: c, image: c}]}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger, annotations: {pod-group-name: another}}
spec: {nodeName: n2, containers: [{name: c, image: c}]}
`, "-f", "-", "-o", "tree")
	want := `Topology own-label (example.com/rack > example.com/host) (and 1 node with nothing of these PodGroups)
├── rack r1
│   └── n1 (cpu 0/1)
│       └── default/one: one-0
└── rack r2: 1 node, nothing of these PodGroups

default/one: Placed, 1 pod given a node
`
	if diff := cmp.Diff(want, done.stdout); diff != "" || done.err != nil {
		t.Errorf("error %v, %s (-want +got):\n%s", done.err, done.stderr, diff)
	}
}

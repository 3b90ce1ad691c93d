package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/render"
)

const nodesOfTwo = `
{apiVersion: v1, kind: Node, metadata: {name: n0}, status: {allocatable: {example.com/gpu: "8", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {example.com/gpu: "8", pods: "9"}}}
`

const threeJobs = `{"at": 0, "name": "a", "duration": 10, "pods": 2, "requests": {"example.com/gpu": "8"}}
{"at": 1, "name": "b", "duration": 10, "pods": 1, "requests": {"example.com/gpu": "8"}}
{"at": 12, "node": "n0", "down": true}
{"at": 13, "name": "c", "duration": 5, "pods": 1, "requests": {"example.com/gpu": "4"}}
`

// simulateWith runs the command with a stream and further arguments.
func simulateWith(t *testing.T, jobs string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"cluster.yaml": nodesOfTwo, "jobs.jsonl": jobs} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	var out, errs bytes.Buffer
	command := Command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs(append([]string{
		"-f", filepath.Join(folder, "cluster.yaml"), "--jobs", filepath.Join(folder, "jobs.jsonl"),
	}, args...))
	err = command.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestFormats(t *testing.T) {
	for output, want := range map[string]string{
		"csv": `name,arrived,started,ended,state,pods,nodes,preemptions,moves
a,0,0,10,Ended,2,2,0,0
b,1,10,20,Ended,1,1,0,1
c,13,20,25,Ended,1,1,0,0
`,
		"": `3 gangs in 25 seconds: 3 Ended, 0 Running, 0 Waiting, 0 Infeasible; 0 preemptions, 1 pods moved
waited until they started: half at most 7 s, 9 of 10 at most 7 s, all at most 9 s

RESOURCE         CAPACITY  USED IN THE MEAN
example.com/gpu  16        65 %
pods             18        8 %
`,
	} {
		args := []string{"-o", output}
		if output == "" {
			args = nil
		}
		stdout, stderr, err := simulateWith(t, threeJobs, args...)
		if err != nil || stderr != "" {
			t.Errorf("-o %s: %v: %s", output, err, stderr)
		}
		assert.Empty(t, cmp.Diff(want, stdout), "-o %s (-want +got)", output)
	}
	stdout, stderr, err := simulateWith(t, threeJobs, "-o", "json")
	var result Result
	if err != nil || json.Unmarshal([]byte(stdout), &result) != nil || len(result.Gangs) != 3 {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
}

func TestAnEmptyStreamHasASummary(t *testing.T) {
	stdout, _, err := simulateWith(t, "")
	if err != nil || !strings.HasPrefix(stdout, "0 gangs in 0 seconds") || !strings.Contains(stdout, "16        0 %") {
		t.Errorf("%v: %s", err, stdout)
	}
}

func TestWrongFlags(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", "yaml"}, `-o is json or csv, not "yaml"`},
		{[]string{"--until", "-1"}, "--until is a number of seconds"},
		{[]string{"--until", "Inf"}, "--until is a number of seconds"},
		{[]string{"--until", "NaN"}, "--until is a number of seconds"},
		{[]string{"-f", "-", "--jobs", "-"}, "-f and --jobs cannot both read standard input"},
		{[]string{"--placement", "Tight"}, "--placement: "},
		{[]string{"--jobs", ""}, "--jobs is missing"},
	} {
		stdout, _, err := simulateWith(t, threeJobs, test.args...)
		if err == nil || !strings.Contains(err.Error(), test.want) || stdout != "" {
			t.Errorf("%v: printed %q, error %v, want %q", test.args, stdout, err, test.want)
		}
	}
	if stdout, _, err := simulateWith(t, threeJobs, "--jobs", "nowhere"); err == nil || stdout != "" {
		t.Errorf("a stream that is not there: printed %q, error %v", stdout, err)
	}
}

func TestABrokenStreamPrintsNothingButItsFaults(t *testing.T) {
	broken := threeJobs + "{}\n" + `{"at": 1, "node": "n9", "down": true}` + "\n"
	stdout, stderr, err := simulateWith(t, broken)
	var coder render.Coder
	if !errors.As(err, &coder) || coder.ExitCode() != render.ExitRejected || stdout != "" {
		t.Errorf("printed %q, error %v", stdout, err)
	}
	for i, want := range []string{"/jobs.jsonl:5: at: is missing", "/jobs.jsonl:6: at: is 1, before 13 of an earlier line"} {
		if lines := strings.Split(strings.TrimSpace(stderr), "\n"); len(lines) != 2 || !strings.Contains(lines[i], want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
}

func TestTheEnd(t *testing.T) {
	for until, want := range map[string]string{"0": "a,0,0,,Running,2,2,0,0", "9": "a,0,0,,Running,2,2,0,0", "10": "a,0,0,10,Ended,2,2,0,0"} {
		stdout, stderr, err := simulateWith(t, threeJobs, "-o", "csv", "--until", until)
		if err != nil || !strings.Contains(stdout, want) {
			t.Errorf("until %s: %v %s%s", until, err, stdout, stderr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stream, err := Read("jobs", strings.NewReader(`{"at": 7, "name": "a", "pods": 1, "requests": {"cpu": "1"}}`), inventory.New())
	require.NoError(t, err)
	if _, err := Run(ctx, inventory.New(), stream, Options{}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "at second 7") {
		t.Errorf("an interrupt: %v", err)
	}
}

func TestGangsThatNoRoomWouldHelpAreNamed(t *testing.T) {
	incomplete := `{"at": 0, "name": "short", "podGroup": {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", ` +
		`"metadata": {"name": "short"}, "spec": {"minMember": 3}}, "pods": [{"apiVersion": "v1", "kind": "Pod", ` +
		`"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "c"}]}}]}`
	_, stderr, err := simulateWith(t, strings.ReplaceAll(threeJobs, `"pods": 1`, `"pods": 9`)+
		strings.ReplaceAll(incomplete, `"at": 0`, `"at": 20`), "--until", "30")
	if err != nil || !strings.HasPrefix(stderr, "warning: gang short: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%v: %s", err, stderr)
	}
}

package simulate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// asDecider makes this test binary a decider: what it does is the value.
const asDecider = "PACKTREE_TEST_DECIDER"

func TestMain(m *testing.M) {
	if what := os.Getenv(asDecider); what != "" {
		decide(what)
		return
	}
	os.Exit(m.Run())
}

// decide puts one pod on each node that has none, in the order of the nodes.
func decide(what string) {
	on, down := map[string]string{}, map[string]bool{}
	var nodes []string
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked struct {
			Cluster *struct{ Nodes []corev1.Node }
			Changes []struct {
				Pod, Node string
				Down      *bool
			}
			Gang struct{ Pods []corev1.Pod }
		}
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if asked.Cluster != nil {
			for _, node := range asked.Cluster.Nodes {
				nodes = append(nodes, node.Name)
			}
		}
		for _, change := range asked.Changes {
			if change.Down != nil {
				down[change.Node] = *change.Down
			} else {
				on[change.Pod] = change.Node
			}
		}
		taken := map[string]bool{}
		for _, node := range on {
			taken[node] = true
		}
		assigned := map[string]string{}
		for _, pod := range asked.Gang.Pods {
			for _, node := range nodes {
				if !taken[node] && !down[node] || what == "careless" {
					assigned[pod.Name], taken[node] = node, true
					break
				}
			}
		}
		switch {
		case what == "silent":
			return
		case what == "babbling":
			fmt.Println("hello")
		case len(assigned) < len(asked.Gang.Pods):
			fmt.Println(`{"refused": "full"}`)
		default:
			answer, _ := json.Marshal(map[string]any{"assignments": assigned})
			fmt.Println(string(answer))
		}
	}
}

const nodesOfTwo = `
{apiVersion: v1, kind: Node, metadata: {name: n0}, status: {allocatable: {example.com/gpu: "8", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {example.com/gpu: "8", pods: "9"}}}
`

// simulateWith runs the command with a stream and further arguments.
func simulateWith(t *testing.T, jobs string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"cluster.yaml": nodesOfTwo, "jobs.jsonl": jobs} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	command := Command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs(append([]string{"-f", filepath.Join(folder, "cluster.yaml"), "--jobs", filepath.Join(folder, "jobs.jsonl")}, args...))
	err = command.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

const threeJobs = `{"at": 0, "name": "a", "duration": 10, "pods": 2, "requests": {"example.com/gpu": "8"}}
{"at": 1, "name": "b", "duration": 10, "pods": 1, "requests": {"example.com/gpu": "8"}}
{"at": 12, "node": "n0", "down": true}
{"at": 13, "name": "c", "duration": 5, "pods": 1, "requests": {"example.com/gpu": "4"}}
`

func TestAProgramDecides(t *testing.T) {
	decider := func(what string) string { return fmt.Sprintf("%s=%s %s", asDecider, what, os.Args[0]) }
	stdout, stderr, err := simulateWith(t, threeJobs, "-o", "csv", "--decider", decider("careful"))
	if err != nil {
		t.Fatal(err, stderr)
	}
	want := `name,arrived,started,ended,state,pods,nodes,preemptions,moves
a,0,0,10,Ended,2,2,0,0
b,1,10,20,Ended,1,1,0,1
c,13,20,25,Ended,1,1,0,0
`
	if stdout != want {
		t.Errorf("got\n%swant\n%s", stdout, want)
	}
	for what, reason := range map[string]string{
		"careless": "the decider's placement is wrong",
		"silent":   "the decider ended without an answer",
		"babbling": "reading what the decider says",
	} {
		stdout, _, err := simulateWith(t, threeJobs, "--decider", decider(what))
		if err == nil || !strings.Contains(err.Error(), reason) || stdout != "" {
			t.Errorf("%s: printed %q, error %v", what, stdout, err)
		}
	}
}

func TestTheCommand(t *testing.T) {
	stdout, stderr, err := simulateWith(t, threeJobs)
	var result Result
	if err != nil || json.Unmarshal([]byte(stdout), &result) != nil || len(result.Gangs) != 3 || !strings.Contains(stderr, "3 Ended") {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", "yaml"}, `-o is json or csv, not "yaml"`},
		{[]string{"--until", "-1"}, "--until is a number of seconds"},
		{[]string{"--placement", "Tight"}, "--placement: "},
		{[]string{"--jobs", ""}, "--jobs is missing"},
		{[]string{"--jobs", "nowhere"}, "open nowhere"},
	} {
		stdout, _, err := simulateWith(t, threeJobs, test.args...)
		if err == nil || !strings.Contains(err.Error(), test.want) || stdout != "" {
			t.Errorf("%v: printed %q, error %v, want %q", test.args, stdout, err, test.want)
		}
	}
	broken := strings.Repeat(threeJobs[:strings.Index(threeJobs, "\n")+1], 1) + "{}\n"
	if stdout, _, err := simulateWith(t, broken); err == nil || !strings.Contains(err.Error(), "jobs.jsonl:2: at: is missing") || stdout != "" {
		t.Errorf("a broken stream: printed %q, error %v", stdout, err)
	}
}

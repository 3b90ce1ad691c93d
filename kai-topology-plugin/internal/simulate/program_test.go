package simulate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/solve"
	"packtree.dev/shared/render"
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
			Cluster *struct {
				Nodes []corev1.Node
				Pods  []corev1.Pod
			}
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
			for _, pod := range asked.Cluster.Pods {
				on[pod.Namespace+"/"+pod.Name] = pod.Spec.NodeName
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
	base := []string{"-f", filepath.Join(folder, "cluster.yaml")}
	if len(args) > 0 && args[0] == "generate" {
		base, args = append([]string{"generate"}, base...), args[1:]
	} else {
		base = append(base, "--jobs", filepath.Join(folder, "jobs.jsonl"))
	}
	command.SetArgs(append(base, args...))
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
	var result struct{ Gangs []Gang }
	if err != nil || json.Unmarshal([]byte(stdout), &result) != nil || len(result.Gangs) != 3 || !strings.Contains(stderr, "3 Ended") {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", "yaml"}, `-o is json, csv, html or recording, not "yaml"`},
		{[]string{"--until", "-1"}, "--until is a number of seconds"},
		{[]string{"--until", "Inf"}, "--until is a number of seconds"},
		{[]string{"-f", "-", "--jobs", "-"}, "-f and --jobs cannot both read standard input"},
		{[]string{"--placement", "Tight"}, "--placement: "},
		{[]string{"--compare", "decider"}, `--compare is cluster=FILE[,…], jobs=FILE[,…], decider=CMD or placement=NAME, not "decider"`},
		{[]string{"--compare", "speed=9"}, `not "speed=9"`},
		{[]string{"--compare", "decider="}, `not "decider="`},
		{[]string{"--compare", "jobs=a,b"}, "--compare jobs=a,b: there are 2 streams, and --jobs has 1"},
		{[]string{"--compare", "placement=Tight"}, "--compare placement: "},
		{[]string{"--compare", "cluster=nowhere"}, "the input was rejected"},
		{[]string{"--compare", "decider=best-fit", "-o", "csv"}, `-o is text, json or html for a comparison, not "csv"`},
		{[]string{"--resume", "nowhere/done"}, "--resume: "},
		{[]string{"--jobs", "-"}, "--jobs cannot be standard input for a comparison"},
	} {
		stdout, _, err := simulateWith(t, threeJobs, test.args...)
		if err == nil || !strings.Contains(err.Error(), test.want) || stdout != "" {
			t.Errorf("%v: printed %q, error %v, want %q", test.args, stdout, err, test.want)
		}
	}
	stdout, _, err = simulateWith(t, threeJobs, "-o", "recording")
	if lines := strings.Split(strings.TrimSpace(stdout), "\n"); err != nil || len(lines) < 4 || !strings.HasPrefix(lines[0], `{"cluster":{"nodes":[{`) {
		t.Errorf("the recording has %d lines, error %v: %.300s", len(lines), err, stdout)
	}
	broken := threeJobs + "{}\n" + `{"at": 1, "node": "n9", "down": true}` + "\n"
	stdout, stderr, err = simulateWith(t, broken)
	var coder render.Coder
	if !errors.As(err, &coder) || coder.ExitCode() != render.ExitRejected || stdout != "" {
		t.Errorf("a broken stream: printed %q, error %v", stdout, err)
	}
	for _, jobs := range []string{"", "nowhere"} {
		command := Command()
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetArgs([]string{"-f", "nowhere", "--jobs", jobs})
		command.SetErr(&bytes.Buffer{})
		if err := command.Execute(); err == nil {
			t.Errorf("--jobs %q is accepted", jobs)
		}
	}
	for i, want := range []string{"/jobs.jsonl:5: at: is missing", "/jobs.jsonl:6: at: is 1, before 13 of an earlier line"} {
		if lines := strings.Split(strings.TrimSpace(stderr), "\n"); len(lines) != 2 || !strings.Contains(lines[i], want) {
			t.Errorf("a broken stream: %q, want %q", lines, want)
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(ctx, inventory.New(), stream, Options{}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "at second 7") {
		t.Errorf("an interrupt: %v", err)
	}
}

func TestThePage(t *testing.T) {
	for file, want := range map[string]string{
		uplotJS:  "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		uplotCSS: "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(file))); sum != want {
			t.Errorf("the file that begins %.50q is not that of uPlot 1.6.32, but has the sum %s", file, sum)
		}
	}
	stdout, stderr, err := simulateWith(t, threeJobs+`{"at": 14, "name": "</script><b>", "pods": 1, "requests": {"example.com/gpu": "8"}}`, "-o", "html", "--until", "100")
	if err != nil {
		t.Fatal(err, stderr)
	}
	for _, never := range []string{"src=", "href=", "@import", "url(", "fetch(", "<b>", "/*DATA*/"} {
		if strings.Contains(stdout, never) {
			t.Errorf("the page has %q", never)
		}
	}
	_, rest, _ := strings.Cut(stdout, `<script type="application/json" id="data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var data pageData
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatal(err)
	}
	want := pageData{
		Summary: "3 Ended, 1 Running in 100 seconds, on 2 nodes.", Device: "example.com/gpu", TimeUnit: "seconds",
		Series: pageSeries{
			At: []float64{0, 1, 10, 12, 13, 14, 20, 25}, Waiting: []float64{0, 1, 0, 0, 1, 2, 1, 0}, Running: []float64{1, 1, 1, 1, 1, 1, 1, 1},
			Allocation: []float64{1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.5},
			Occupancy:  []float64{1, 1, 11.0 / 12, 11.5 / 13, 12.0 / 14, 15.0 / 20, 16.25 / 25, 0.5375},
		},
		Waits:  []pageWait{{"1", 9, 11, 11}, {"2–3", 0, 0, 0}},
		Levels: []pageLevel{},
		Idle:   data.Idle, Metrics: data.Metrics,
	}
	if diff := cmp.Diff(want, data, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Of 1600 device-seconds 704 were on a node that was down, and 860 in use.
	if diff := cmp.Diff([]string{"allocationRatio", "0.96"}, data.Metrics[0]); diff != "" {
		t.Errorf("the first metric (-want +got):\n%s", diff)
	}
}

// A long stream is shown by means over equal times.
func TestThePageOfALongStream(t *testing.T) {
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, `{"at": %d, "name": "g%d", "duration": 1, "pods": 1, "requests": {"example.com/gpu": "%d"}}`+"\n", 2*i, i, 8*(i%2))
	}
	cluster := twoNodes(t)
	stream, err := Read("jobs", strings.NewReader(lines.String()), cluster)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), cluster, stream, Options{})
	if err != nil {
		t.Fatal(err)
	}
	shown := result.pageData().Series
	if len(shown.At) > maxMoments || len(shown.At) < maxMoments/2 {
		t.Errorf("%d moments are shown", len(shown.At))
	}
	if last := shown.Occupancy[len(shown.Occupancy)-1]; math.Abs(last-0.125) > 1e-3 {
		t.Errorf("%v of the devices were in use, want an eighth", last)
	}
}

// A program may start others, which have its output.
func TestADeciderThatHangsEndsWithTheSimulation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hanging, err := startProgram(ctx, "sleep 900; true", io.Discard, &inventory.Inventory{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := hanging.Decide(ctx, solve.Request{Question: decision.Question{Gang: &gang.Gang{}}})
		ended <- errors.Join(err, hanging.stop())
	}()
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it answered")
		}
	case <-time.After(time.Minute):
		t.Fatal("the simulation waits for it")
	}
}

// incomplete is a line with manifests of a gang that needs some pods and has others.
func incomplete(name string, needs, has int) string {
	var pods []string
	for i := range has {
		pods = append(pods, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s-%d"}, "spec": {"containers": [`+
			`{"name": "c", "image": "c", "resources": {"limits": {"example.com/gpu": "8"}}}]}}`, name, i))
	}
	return fmt.Sprintf(`{"at": 0, "name": %q, "duration": 9, "podGroup": {"apiVersion": "scheduling.run.ai/v2alpha2", `+
		`"kind": "PodGroup", "metadata": {"name": %[1]q}, "spec": {"minMember": %[2]d}}, "pods": [%[3]s]}`+"\n",
		name, needs, strings.Join(pods, ", "))
}

func TestGangsThatNoRoomWouldHelpAreNamed(t *testing.T) {
	lines := incomplete("large", 9, 9) + incomplete("fits", 1, 1)
	for i := range maxFaults + 2 {
		lines += incomplete(fmt.Sprint("short", i), 3, 2)
	}
	_, stderr, err := simulateWith(t, lines)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"warning: gang short0: ", "warning: gang short99: ", "warning: 2 more gangs "} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is missing: %s", want, stderr)
		}
	}
	for _, not := range []string{"gang large", "gang fits", "gang short100:"} {
		if strings.Contains(stderr, not) {
			t.Errorf("%q is named: %s", not, stderr)
		}
	}
}

// Package offline_test pipes the examples through the four programs, as a user without a cluster does.
package offline_test

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/placement"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/manifests"
)

// filters are the programs in the order of the pipe; place follows them.
var filters = [][]string{
	{"dynamo-operator", "render", "-f", "-"},
	{"grove-operator", "render", "-f", "-"},
	{"podgrouper", "render", "-f", "-"},
}

// Exit codes of place.
const (
	allPlaced  = 0
	somePlaced = 3
)

// podGroups is how many gangs an example has. The pods of a Job are made by the cluster's Job controller, so offline
// there is nothing to place.
var podGroups = map[string]int{
	"dgd-block": 2, "dgd-cannot-fit": 1, "dgd-rack": 2, "dgd-side-by-side": 1, "dgd-zone": 1, "job-topology-aware": 0,
	"podgroup-sample2":                     1,
	"podcliqueset-disaggregated-inference": 3, "podcliqueset-hierarchical-inference": 6, "two-topologies": 2,
}

func TestPipe(t *testing.T) {
	directory := exampleDirectory(t)
	all, err := examples.Load(directory, corev1.NamespaceDefault)
	require.NoError(t, err)
	for _, example := range all {
		t.Run(example.Name, func(t *testing.T) {
			rendered := render(t, input(t, directory, example.File))
			want, exit := "Placed", allPlaced
			if !example.Fits {
				want, exit = "Infeasible", somePlaced
			}
			decided, code := place(t, rendered, "json")
			if code != exit {
				t.Errorf("place exits %d, want %d", code, exit)
			}
			checkVerdicts(t, decided, podGroups[example.Name], want)
			if example.Fits {
				checkPlacement(t, rendered, directory, example)
			}
		})
	}
}

// The same input gives the same bytes, despite maps and clocks.
func TestPipeIsStable(t *testing.T) {
	directory := exampleDirectory(t)
	read := input(t, directory, filepath.Join(directory, "podcliqueset-disaggregated-inference.yaml"))
	first, _ := place(t, render(t, read), "yaml")
	second, _ := place(t, render(t, read), "yaml")
	assert.Empty(t, cmp.Diff(string(first), string(second)), "two runs differ (-first +second)")
}

// checkVerdicts checks that every gang was decided as wanted, and that a waiting one has an explanation.
func checkVerdicts(t *testing.T, decided []byte, gangs int, want string) {
	t.Helper()
	var report struct {
		PodGroups []struct {
			Name, Verdict, Message string
			Assignments            map[string]string
		} `json:"podGroups"`
	}
	if err := json.Unmarshal(decided, &report); err != nil {
		t.Fatalf("place prints no JSON: %v\n%s", err, decided)
	}
	if len(report.PodGroups) != gangs {
		t.Errorf("place decided %d PodGroups, want %d:\n%s", len(report.PodGroups), gangs, decided)
	}
	for _, group := range report.PodGroups {
		if group.Verdict != want {
			t.Errorf("PodGroup %s is %s (%s), want %s", group.Name, group.Verdict, group.Message, want)
		}
		if group.Verdict != "Placed" && (group.Message == "" || len(group.Assignments) > 0) {
			t.Errorf("PodGroup %s is %s and must have a message and no assignment: %+v", group.Name,
				group.Verdict, group)
		}
	}
}

// checkPlacement reads the pods of `place -o yaml` as if they ran, and judges them by node labels as on a live cluster.
func checkPlacement(t *testing.T, rendered []byte, directory string, example examples.Example) {
	t.Helper()
	printed, _ := place(t, rendered, "yaml")
	pods, topologies := decode[corev1.Pod](t, printed, "Pod"), placement.Topologies{}
	for i := range pods {
		// Objects that pass through unchanged have the namespace of their author, which may be empty.
		pods[i].Namespace = stdcmp.Or(pods[i].Namespace, corev1.NamespaceDefault)
	}
	for _, topology := range decode[grovev1alpha1.ClusterTopology](t, input(t, directory, example.File),
		"ClusterTopology") {
		topologies.AddClusterTopology(&topology)
	}
	for _, topology := range decode[kaiv1alpha1.Topology](t, rendered, "Topology") {
		topologies.AddTopology(&topology)
	}
	for _, object := range example.Objects {
		workload, is, err := placement.Read(object, topologies)
		require.NoError(t, err)
		if !is || object.GetKind() == "Job" {
			continue
		}
		if len(workload.Claims) == 0 {
			t.Errorf("%s claims nothing", workload.Object)
		}
		for _, finding := range workload.Judge(pods, decode[corev1.Node](t, rendered, "Node")) {
			if !finding.Held() {
				t.Errorf("broken: %s", finding)
			}
		}
	}
}

func exampleDirectory(t *testing.T) string {
	t.Helper()
	directory, err := examples.Directory()
	require.NoError(t, err)
	return directory
}

// input is a user's input: the example, the default topology and the nodes.
func input(t *testing.T, directory, file string) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, part := range []string{file, filepath.Join(directory, examples.DefaultTopology),
		filepath.Join(directory, examples.Nodes)} {
		content, err := os.ReadFile(part)
		require.NoError(t, err)
		fmt.Fprintf(&all, "%s\n---\n", content)
	}
	return all.Bytes()
}

func render(t *testing.T, in []byte) []byte {
	t.Helper()
	for _, filter := range filters {
		out, problems, code := run(t, in, filter...)
		if code != 0 {
			t.Fatalf("%s exits %d:\n%s", strings.Join(filter, " "), code, problems)
		}
		in = out
	}
	return in
}

func place(t *testing.T, in []byte, format string) ([]byte, int) {
	t.Helper()
	out, problems, code := run(t, in, "kai-topology-plugin", "place", "-f", "-", "-o", format)
	if code != allPlaced && code != somePlaced {
		t.Fatalf("place exits %d:\n%s", code, problems)
	}
	return out, code
}

func run(t *testing.T, in []byte, arguments ...string) (out []byte, problems string, code int) {
	t.Helper()
	program := filepath.Join(exampleDirectory(t), "..", "..", "bin", arguments[0])
	command := exec.CommandContext(t.Context(), program, arguments[1:]...)
	// No cluster may be asked, not even by accident.
	command.Env = []string{"KUBECONFIG=" + os.DevNull, "HOME=" + t.TempDir()}
	var written, complaints bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(in), &written, &complaints
	if err := command.Run(); err != nil && command.ProcessState == nil {
		t.Fatalf("running %s (`make build` makes it): %v", program, err)
	}
	return written.Bytes(), complaints.String(), command.ProcessState.ExitCode()
}

func decode[T any](t *testing.T, content []byte, kind string) []T {
	t.Helper()
	documents, findings := manifests.Parse("pipe", content)
	if len(findings) > 0 {
		t.Fatalf("the pipe's output cannot be read: %v", findings)
	}
	var decoded []T
	for _, document := range documents {
		if document.Object.GetKind() != kind {
			continue
		}
		var object T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(document.Object.Object, &object); err != nil {
			t.Fatalf("%s: %v", document.Source, err)
		}
		decoded = append(decoded, object)
	}
	return decoded
}

package kubectlpacktree

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"

	"packtree.dev/shared/golden"
)

const dump = "testdata/cluster.yaml"

// run runs the plugin without a cluster to talk to.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return runWith(t, args...)
}

func runWith(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	command := Command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs(args)
	err = command.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestGolden(t *testing.T) {
	compareAll(t, dump, map[string][]string{
		"tree.txt":            {"tree"},
		"tree-host.txt":       {"tree", "--topology", "racks", "--level", "host"},
		"tree-zone-cpu.txt":   {"tree", "--level", "zone", "--resource", "cpu", "-n", "research"},
		"tree.json":           {"tree", "--topology", "racks", "-o", "json"},
		"tree-colours.ansi":   {"tree", "--topology", "racks", "--color", "always"},
		"explain-dgd.txt":     {"explain", "dgd/deployment"},
		"explain-dgd.ansi":    {"explain", "dgd/deployment", "--color", "always"},
		"explain-dgd.json":    {"explain", "deployment", "-o", "json"},
		"explain-runs.txt":    {"explain", "runs"},
		"explain-pod.txt":     {"explain", "pod", "runs-worker"},
		"explain-plain.txt":   {"explain", "pod/lonely"},
		"explain-behind.txt":  {"explain", "podgroup/second", "-n", "queue"},
		"explain-fits.txt":    {"explain", "podgroups.scheduling.run.ai/first", "-n", "queue"},
		"explain-gated.txt":   {"explain", "early"},
		"explain-elastic.txt": {"explain", "elastic"},
		"explain-wrong.txt":   {"explain", "wrong"},
		"explain-lost.txt":    {"explain", "lost"},
		"explain-placed.txt":  {"explain", "podgroup/batch", "-n", "research"},
		"explain-empty.txt":   {"explain", "pcs/empty"},
	})
}

func TestZonesOfNodesAreDrawnAndNamed(t *testing.T) {
	compareAll(t, "testdata/zones.yaml", map[string][]string{
		"zones-tree.txt":    {"tree"},
		"zones-host.txt":    {"tree", "--level", "host"},
		"zones-numa.txt":    {"tree", "--level", "numa"},
		"zones-explain.txt": {"explain", "pair"},
		"zones-wide.txt":    {"explain", "wide"},
	})
}

// compareAll compares what commands print of a dump with golden files.
func compareAll(t *testing.T, dump string, commands map[string][]string) {
	t.Helper()
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(t, append(args, "-f", dump)...)
			if err != nil {
				t.Fatal(err, stderr)
			}
			golden.Equal(t, filepath.Join("testdata", "golden", name), stdout)
		})
	}
}

func TestOnATerminalLinesAreNoWiderThanItIs(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	p := &plugin{}
	command := &cobra.Command{}
	read, err := (&source{plugin: p, files: []string{dump}}).read(command, live.Wanted{})
	require.NoError(t, err)
	report, err := overview.Of(t.Context(), read.Inventory, overview.Question{Topology: "racks"})
	require.NoError(t, err)
	for _, columns := range []int{70, 80, 100, 170} {
		pen, err := drawing.For(&bytes.Buffer{}, drawing.Always)
		require.NoError(t, err)
		pen.Columns = columns
		drawn := drawTree(pen, report, "")
		for line := range strings.Lines(drawn) {
			// The title names all levels and may be broken by the terminal.
			if line = strings.TrimSuffix(line, "\n"); drawing.Width(line) > columns && !strings.Contains(line, "Topology") {
				t.Errorf("%d columns: a line of %d: %s", columns, drawing.Width(line), line)
			}
		}
	}
}

func TestWhatIsWrongIsSaidWithItsRemedy(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no such topology": {[]string{"tree", "--topology", "rack", "-f", dump},
			`--topology: no Topology is called "rack", there is: racks, racks-again`},
		"no such level": {[]string{"tree", "--level", "row", "-f", dump},
			`--level: no Topology has level "row", there is: example.com/rack, host`},
		"no such resource": {[]string{"tree", "--resource", "amd.com/gpu", "-f", dump},
			"--resource: no node has amd.com/gpu, they have: cpu, memory"},
		"no such colour": {[]string{"tree", "--color", "blue", "-f", dump},
			`--color is auto, always or never, not "blue"`},
		"no such format": {[]string{"tree", "-o", "yaml", "-f", dump}, "-o is json"},
		"no such object": {[]string{"explain", "wid", "-f", dump}, `namespace default has no object "wid": it has `},
		"no such object of kind": {[]string{"explain", "dgd/wide", "-f", dump},
			`no DynamoGraphDeployment "wide": it has dynamographdeployment/deployment`},
		"an empty namespace": {[]string{"explain", "wide", "-n", "none", "-f", dump}, "Is it the right namespace (-n)?"},
		"no such kind":       {[]string{"explain", "job/wide", "-f", dump}, "KIND is pod, podgroup, podgang, pcs or dgd"},
		"a workload for what-if": {[]string{"what-if", "-f", "testdata/workload.yaml"},
			"only DynamoGraphDeployment: turn workloads into PodGroups and Pods first:\n  kubectl get " +
				"clustertopologies,clustertopologybindings"},
		"a negative budget": {[]string{"what-if", "-f", dump, "--search-budget", "-1"},
			"--search-budget is a number of steps"},
		"no cluster": {[]string{"tree", "-s", "nowhere://", "--request-timeout", "x"}, "finding a cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, err := run(t, test.args...)
			require.ErrorContains(t, err, test.want)
			require.Empty(t, stdout)
		})
	}
}

func TestWithoutAClusterThereIsNothingToFollow(t *testing.T) {
	_, _, err := run(t, "view", "-s", "nowhere://", "--request-timeout", "x", "--color", "never")
	assert.ErrorContains(t, err, "finding a cluster")
}

// TestNoMessageCommandsATerminal: a status may be written by users of a namespace, and is read by admins.
func TestNoMessageCommandsATerminal(t *testing.T) {
	content, err := os.ReadFile(dump)
	require.NoError(t, err)
	forged := filepath.Join(t.TempDir(), "dump.yaml")
	content = append(content, `
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: forged, namespace: default}
spec: {minMember: 1}
status:
  conditions: [{type: Scheduled, status: "False", reason: Waiting, message: "\e]0;owned\a\e[2J", lastTransitionTime: "2026-01-01T00:00:00Z"},
    {type: RepairPlanned, status: "False", reason: NoPlace, message: "\e[1;1H", lastTransitionTime: "2026-01-01T00:00:00Z"}]
`...)
	require.NoError(t, os.WriteFile(forged, content, 0o600))
	for _, args := range [][]string{{"tree"}, {"explain", "podgroup/forged"}} {
		stdout, stderr, err := run(t, append(args, "-f", forged)...)
		if err != nil || !strings.Contains(stdout, "forged") || strings.ContainsAny(stdout, "\x1b\a") {
			t.Errorf("%v: %v %q %s", args, err, stdout, stderr)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/render"
)

const header = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"

// run executes the program and returns what it printed, and its error.
func run(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	root := rootCommand()
	var out, errs bytes.Buffer
	root.SetIn(strings.NewReader(input))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	root.SilenceUsage, root.SilenceErrors = true, true
	err = root.Execute()
	return out.String(), errs.String(), err
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(header+text), 0o600))
	return file
}

func TestFindingsOfTheConfigurationAreOneLineEach(t *testing.T) {
	const set = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s}\nspec: {template: {cliques: " +
		"[{name: a, spec: {podSpec: {containers: [{name: main, image: x}]}}}]}}\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown fields": {
			"topologyAwareScheduling: {enabled: true, levels: [{domian: rack, key: a/b}]}\nlogLevl: info",
			[]string{`logLevl: unknown field, did you mean "logLevel"?`,
				`topologyAwareScheduling.levels[0].domian: unknown field, did you mean "domain"?`},
		},
		"wrong values": {
			"topologyAwareScheduling: {enabled: true, levels: [{domain: host, key: " +
				"example.com/host}]}\nruntimeClientConnection: {qps: -1, burst: -1}",
			[]string{
				"runtimeClientConnection.qps: Invalid value: -1: must be greater than 0",
				"runtimeClientConnection.burst: Invalid value: -1: must be greater than 0",
				"warning: topologyAwareScheduling.levels[0].key: the kubelet labels hosts with kubernetes.io/hostname, " +
					"not with example.com/host",
			},
		},
		"no YAML": {"a: [", nil},
	} {
		t.Run(name, func(t *testing.T) {
			file := configFile(t, c.text)
			for command, args := range map[string][]string{"render": {"render", "-f", "-", "--config", file},
				"start": {"--config", file}} {
				stdout, stderr, err := run(t, set, args...)
				require.ErrorAs(t, err, new(render.Rejected), command)
				assert.Empty(t, stdout, command)
				lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
				if c.want == nil && len(lines) == 1 &&
					strings.HasPrefix(lines[0], file+"[1]: OperatorConfiguration: ") {
					continue
				}
				var want []string
				for _, line := range c.want {
					want = append(want, file+"[1]: OperatorConfiguration: "+line)
				}
				assert.Empty(t, cmp.Diff(want, lines), "%s: lines (-want +got)", command)
			}
		})
	}
}

func TestRenderUsesTheConfiguration(t *testing.T) {
	set := `
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s}
spec: {template: {topologyConstraint: {packDomain: rack}, cliques: [{name: a, spec: {podSpec: {containers: [{name: main, image: x}]}}}]}}
`
	_, stderr, err := run(t, set, "render", "-f", "-", "--config", configFile(t, ""))
	require.Error(t, err)
	assert.Contains(t, stderr, "topology awareness is off")
	on := configFile(t, "topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}")
	stdout, stderr, err := run(t, set, "render", "-f", "-", "--config", on)
	require.NoError(t, err, "stderr %q", stderr)
	assert.Contains(t, stdout, "nodeLabel: example.com/rack", "stderr %q", stderr)
	_, stderr, err = run(t, set, "render", "-f", "-", "--config", on+".missing")
	require.Error(t, err)
	assert.Equal(t, on+".missing: OperatorConfiguration: no such file or directory\n", stderr)
}

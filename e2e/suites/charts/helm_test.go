package charts_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/examples"
)

// charts are the charts under test, each with the Deployments that it makes and the CRDs that it installs by default.
var charts = map[string]struct{ deployments, definitions []string }{
	"dynamo-operator": {
		deployments: []string{"dynamo-operator"},
		definitions: []string{
			"dynamographdeployments.nvidia.com", "dynamographdeploymentscalingadapters.nvidia.com",
			"dynamoworkermetadatas.nvidia.com",
		},
	},
	"grove-operator": {
		deployments: []string{"grove-operator"},
		definitions: []string{
			"clustertopologies.grove.io", "clustertopologybindings.grove.io", "podcliques.grove.io",
			"podcliquescalinggroups.grove.io", "podcliquesets.grove.io",
			"podgangs.scheduler.grove.io",
		},
	},
	"kai-topology-plugin": {
		deployments: []string{"kai-topology-plugin"},
		definitions: []string{"podgroups.scheduling.run.ai", "topologies.kai.scheduler"},
	},
	"packtree": {
		deployments: []string{"dynamo-operator", "grove-operator", "kai-topology-plugin", "podgrouper"},
		definitions: []string{
			"clustertopologies.grove.io", "clustertopologybindings.grove.io", "dynamographdeployments.nvidia.com",
			"dynamographdeploymentscalingadapters.nvidia.com",
			"dynamoworkermetadatas.nvidia.com", "podcliques.grove.io", "podcliquescalinggroups.grove.io",
			"podcliquesets.grove.io", "podgangs.scheduler.grove.io", "podgroups.scheduling.run.ai",
			"topologies.kai.scheduler",
		},
	},
	"podgrouper": {
		deployments: []string{"podgrouper"},
	},
}

// patience bounds each wait, on a busy machine.
const patience = 2 * time.Minute

// repository is the root of the working tree.
func repository(t *testing.T) string {
	t.Helper()
	directory, err := examples.Directory()
	require.NoError(t, err)
	return filepath.Join(directory, "..", "..")
}

func chartPath(t *testing.T, chart string) string {
	t.Helper()
	return filepath.Join(repository(t), "charts", chart)
}

// helm runs the built helm with a home and a cache of its own, since the cluster of the test before had other kinds. It
// returns its standard output, and standard error for a failure.
func helm(t *testing.T, kubeconfig string, arguments ...string) (string, string, error) {
	t.Helper()
	home := t.TempDir()
	command := exec.Command(filepath.Join(repository(t), "bin", "tools", "helm"), arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECACHEDIR="+home)
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err := command.Run()
	return out.String(), withoutLinks(problems.String()), err
}

// withoutLinks drops helm's warnings that the umbrella's subcharts are symbolic links, which is intended.
func withoutLinks(problems string) string {
	var lines []string
	for line := range strings.Lines(problems) {
		if !strings.Contains(line, "found symbolic link in path") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func mustHelm(t *testing.T, kubeconfig string, arguments ...string) string {
	t.Helper()
	out, problems, err := helm(t, kubeconfig, arguments...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(arguments, " "), err, out, problems)
	}
	return out
}

// kubectl runs the built kubectl with a cache of its own, as for helm.
func kubectl(t *testing.T, kubeconfig string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.Command(filepath.Join(repository(t), "bin", "tools", "kubectl"),
		append(arguments, "--kubeconfig="+kubeconfig)...)
	command.Env = append(os.Environ(), "KUBECACHEDIR="+t.TempDir())
	out, err := command.CombinedOutput()
	return string(out), err
}

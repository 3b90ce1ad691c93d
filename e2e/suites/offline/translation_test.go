package offline_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/examples"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Each deployment in dynamo-operator's golden files becomes a PodCliqueSet that grove-operator's admission accepts
// without a warning, with cliques and pods.
func TestGroveTakesEveryGoldenTranslation(t *testing.T) {
	inputs, err := filepath.Glob(
		filepath.Join(exampleDirectory(t), "..", "..", "dynamo-operator", "internal", "offline", "testdata", "*",
			"input.yaml"))
	if err != nil || len(inputs) < 15 {
		t.Fatalf("found %d goldens: %v", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(filepath.Dir(input)), func(t *testing.T) {
			written, err := os.ReadFile(input)
			require.NoError(t, err)
			checkGroveTakes(t, translated(t, written))
		})
	}
}

// If dynamo-operator accepts a deployment, grove-operator accepts its PodCliqueSet: no rule of Grove's is hidden from
// the writer of a deployment.
func TestGroveTakesWhateverDynamoLetsPass(t *testing.T) {
	const drawn = 100
	levels, err := os.ReadFile(filepath.Join(exampleDirectory(t), examples.DefaultTopology))
	require.NoError(t, err)
	deployments := map[string][]byte{}
	for i := range drawn {
		deployment := anyDeployment().Example(i)
		name := fmt.Sprintf("%s%03d", deployment["metadata"].(map[string]any)["name"], i)
		deployment["metadata"].(map[string]any)["name"] = name
		written, err := yaml.Marshal(deployment)
		require.NoError(t, err)
		deployments[name] = written
	}
	refused := refusedBy(t, manifestOf(deployments, levels), "dynamo-operator", "render", "-f", "-")
	for name := range refused {
		delete(deployments, name)
	}
	t.Logf("dynamo-operator refuses %d of %d", len(refused), drawn)
	if len(refused) == 0 || len(deployments) < drawn/2 {
		t.Errorf("%d of %d are refused: too few or too many to prove anything", len(refused), drawn)
	}
	sets := translated(t, manifestOf(deployments, levels))
	if got := len(decode[grovev1alpha1.PodCliqueSet](t, sets, "PodCliqueSet")); got != len(deployments) {
		t.Errorf("%d deployments became %d PodCliqueSets", len(deployments), got)
	}
	checkGroveTakes(t, sets)
}

func manifestOf(deployments map[string][]byte, levels []byte) []byte {
	var all bytes.Buffer
	all.Write(levels)
	for _, written := range deployments {
		fmt.Fprintf(&all, "\n---\n%s", written)
	}
	return all.Bytes()
}

func translated(t *testing.T, deployments []byte) []byte {
	t.Helper()
	out, problems, code := run(t, deployments, "dynamo-operator", "render", "-f", "-", "-o", "json")
	if code != 0 {
		t.Fatalf("dynamo-operator exits %d:\n%s", code, problems)
	}
	return out
}

func checkGroveTakes(t *testing.T, sets []byte) {
	t.Helper()
	out, problems, code := run(t, sets, "grove-operator", "render", "-f", "-", "-o", "json")
	if code != 0 || problems != "" {
		t.Fatalf("grove-operator exits %d:\n%s", code, problems)
	}
	wanted := map[string]bool{}
	for _, set := range decode[grovev1alpha1.PodCliqueSet](t, sets, "PodCliqueSet") {
		wanted[set.Namespace+"/"+set.Name] = true
	}
	for _, clique := range decode[grovev1alpha1.PodClique](t, out, "PodClique") {
		delete(wanted, clique.Namespace+"/"+clique.Labels[grovev1alpha1.LabelPartOf])
	}
	if len(wanted) > 0 {
		t.Errorf("no PodClique of %v", wanted)
	}
}

var finding = regexp.MustCompile(`^-\[\d+\]: DynamoGraphDeployment \S+/(\S+): (.*)$`)

// refusedBy returns a program's message for each object that it refuses, by the object's name.
func refusedBy(t *testing.T, in []byte, arguments ...string) map[string]string {
	t.Helper()
	_, problems, _ := run(t, in, arguments...)
	refused := map[string]string{}
	for line := range strings.Lines(problems) {
		parts := finding.FindStringSubmatch(strings.TrimSpace(line))
		if parts == nil {
			t.Fatalf("not a finding about a deployment: %s", line)
		}
		if !strings.HasPrefix(parts[2], "warning: ") {
			refused[parts[1]] = parts[2]
		}
	}
	return refused
}

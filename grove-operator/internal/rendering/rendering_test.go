package rendering_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/golden"
	"packtree.dev/shared/manifests"

	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/rendering"
)

// TestGolden renders each folder's input.yaml, with its config.yaml if there is one. The expected output is
// output.yaml, or findings.txt for refused input.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/input.yaml")
	require.NoError(t, err, "no inputs")
	require.NotEmpty(t, inputs, "no inputs")
	for _, input := range inputs {
		folder := filepath.Dir(input)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			printed, findings := run(t, input, configOf(t, folder))
			golden.Equal(t, filepath.Join(folder, "output.yaml"), printed)
			golden.Equal(t, filepath.Join(folder, "findings.txt"), findings)
		})
	}
}

func configOf(t *testing.T, folder string) *groveconfigv1alpha1.OperatorConfiguration {
	t.Helper()
	file := filepath.Join(folder, "config.yaml")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return configuration.WithoutFile()
	}
	config, findings := configuration.Read(file)
	require.Empty(t, findings)
	return config
}

func run(t *testing.T, input string, config *groveconfigv1alpha1.OperatorConfiguration) (printed, said string) {
	t.Helper()
	content, err := os.ReadFile(input)
	require.NoError(t, err)
	documents, findings := manifests.Parse("input.yaml", content)
	objects, more := rendering.Decide(documents, config)
	rejected := false
	for _, finding := range append(findings, more...) {
		said += finding.String() + "\n"
		rejected = rejected || !finding.Warning
	}
	if rejected {
		return "", said
	}
	var out bytes.Buffer
	require.NoError(t, manifests.Write(&out, manifests.YAML, objects))
	return out.String(), said
}

func TestDecideGivesTheSameBytesEveryTime(t *testing.T) {
	input := "testdata/every-option/input.yaml"
	first, _ := run(t, input, configuration.WithoutFile())
	require.Contains(t, first, "kind: HorizontalPodAutoscaler", "the input no longer has every option")
	for range 10 {
		again, _ := run(t, input, configuration.WithoutFile())
		require.Equal(t, first, again, "two runs differ:\n%s", cmp.Diff(first, again))
	}
}

func TestNothingIsMadeTwice(t *testing.T) {
	content, err := os.ReadFile("testdata/every-option/input.yaml")
	require.NoError(t, err)
	documents, findings := manifests.Parse("input.yaml", bytes.Join([][]byte{content, content}, []byte("\n---\n")))
	require.Empty(t, findings)
	_, findings = rendering.Decide(documents, configuration.WithoutFile())
	want := map[string]int{"PodCliqueSet": 0, "ClusterTopology": 0}
	got := maps.Clone(want)
	for _, document := range documents[:len(documents)/2] {
		if _, consumed := want[document.Object.GetKind()]; consumed {
			want[document.Object.GetKind()]++
		}
	}
	for _, finding := range findings {
		if finding.Reason == "the input has this object already" && !finding.Warning {
			got[finding.Kind]++
		}
	}
	assert.Empty(t, cmp.Diff(want, got), "objects that are said to exist already (-want +got)")
	assert.NotZero(t, want["PodCliqueSet"], "objects that are said to exist already (-want +got)")
}

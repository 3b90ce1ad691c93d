package offline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"packtree.dev/shared/golden"
	"packtree.dev/shared/manifests"

	"packtree.dev/podgrouper/internal/offline"
	"packtree.dev/podgrouper/internal/podgroups"
)

// TestRender compares, for every folder under testdata, the result for input.yaml with golden.yaml, and the errors with
// findings.txt. Rejected input has no golden.yaml.
func TestRender(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/input.yaml")
	require.NoError(t, err, "no testdata")
	require.NotEmpty(t, inputs, "no testdata")
	for _, path := range inputs {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects, findings := offline.Render(read(t, path), podgroups.Defaults{})
			golden.Equal(t, filepath.Join(folder, "golden.yaml"), printed(t, objects))
			golden.Equal(t, filepath.Join(folder, "findings.txt"), written(findings))
		})
	}
}

func TestRenderingAgainChangesNothing(t *testing.T) {
	for _, name := range []string{"podgang", "job", "respected", "segments"} {
		path := filepath.Join("testdata", name, "golden.yaml")
		golden, err := os.ReadFile(path)
		require.NoError(t, err)
		objects, findings := offline.Render(read(t, path), podgroups.Defaults{})
		assert.Empty(t, findings, "%s: %s", name, written(findings))
		assert.Empty(t, cmp.Diff(string(golden), printed(t, objects)), "%s (-golden +rendered again)", name)
	}
}

func TestTheOrderOfTheInputOnlyChangesTheOrderOfTheOutput(t *testing.T) {
	for _, name := range []string{"podgang", "job", "segments"} {
		documents := read(t, filepath.Join("testdata", name, "input.yaml"))
		want := sortedDocuments(t, documents)
		rapid.Check(t, func(rt *rapid.T) {
			got := sortedDocuments(t, rapid.Permutation(documents).Draw(rt, "order"))
			require.Empty(rt, cmp.Diff(want, got), "%s (-as written +permuted)", name)
		})
	}
}

func sortedDocuments(t *testing.T, documents []manifests.Document) []string {
	objects, findings := offline.Render(documents, podgroups.Defaults{})
	require.Empty(t, findings, written(findings))
	split := strings.Split(printed(t, objects), "---\n")
	slices.Sort(split)
	return split
}

func read(t *testing.T, path string) []manifests.Document {
	t.Helper()
	documents, findings := manifests.Read([]string{path}, nil)
	require.Empty(t, findings, written(findings))
	return documents
}

func printed(t *testing.T, objects []runtime.Object) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, manifests.Write(&out, manifests.YAML, objects))
	return out.String()
}

func written(findings []manifests.Finding) string {
	var lines strings.Builder
	for _, finding := range findings {
		lines.WriteString(finding.String() + "\n")
	}
	return lines.String()
}

func TestAPodThatIsThereAlreadyIsTurnedDown(t *testing.T) {
	documents := read(t, "testdata/podgang/input.yaml")
	pod := slices.IndexFunc(documents,
		func(document manifests.Document) bool { return document.Object.GetKind() == "Pod" })
	require.GreaterOrEqual(t, pod, 0, "the input has no pod any more")
	_, findings := offline.Render(append(documents, documents[pod]), podgroups.Defaults{})
	assert.Contains(t, written(findings), "metadata.name: the input has this object already")
}

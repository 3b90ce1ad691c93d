package check_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/offline/check"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/mutants"
	"packtree.dev/shared/render"
)

// FuzzPlace: whatever the manifests, they are rejected, or place decides about them and check finds its answer right. Of
// an answer that was changed, check says what is wrong, or that it cannot be read.
func FuzzPlace(f *testing.F) {
	seeds := []string{gangs}
	nodes, err := os.ReadFile(cluster)
	for _, name := range []string{"hierarchy", "company", "relations", "elastic", "expected", "mended"} {
		content, wrong := os.ReadFile(filepath.Join("../place/testdata", name+".yaml"))
		if err != nil || wrong != nil {
			f.Fatal(err, wrong)
		}
		seeds = append(seeds, string(nodes)+"\n---\n"+string(content))
	}
	keys := append(scheduling.CarriedAnnotations(), scheduling.AnnotationNodeLabels, scheduling.AnnotationExpectedPods,
		kai.LabelSubGroupName)
	inputs, answer := mutants.Seeds(f, keys, seeds...), filepath.Join(f.TempDir(), "answer.json")
	f.Fuzz(func(t *testing.T, seed uint8, program []byte) {
		// One half of the program changes the manifests, the other the answer.
		input := string(inputs(seed, program[:len(program)/2]))
		placed := invoke(t, place.Command(), input, "-f", "-", "--certificate", "--search-budget", "300")
		if placed.code == render.ExitRejected && !strings.Contains(placed.stderr, "deciding: ") {
			return
		}
		require.False(t, placed.code != 0 && placed.code != 3, "exit code %d\n%s\n%s", placed.code, placed.stderr, input)
		checked := func(text []byte) done {
			require.NoError(t, os.WriteFile(answer, text, 0o600))
			return invoke(t, check.Command(), input, "-f", "-", "-f", answer)
		}
		got := checked([]byte(placed.stdout))
		require.Zero(t, got.code, "exit code %d\n%s%s\n%s\nof\n%s", got.code, got.stdout, got.stderr, placed.stdout, input)
		var said any
		require.NoError(t, json.Unmarshal([]byte(placed.stdout), &said))
		changed := mutants.JSON(mutants.Of(said, nil, program[len(program)/2:]))
		if got := checked(changed); got.code != 0 && got.stdout+got.stderr == "" {
			t.Fatalf("exit code %d without a reason\n%s\nof\n%s", got.code, changed, input)
		}
	})
}

package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/offline/check"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/mutants"
	"packtree.dev/shared/render"
)

// FuzzPlace: whatever the manifests, they are rejected, or place decides about them and check finds its answer right.
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
		input := string(inputs(seed, program))
		placed := invoke(t, place.Command(), input, "-f", "-", "--certificate", "--search-budget", "300")
		if placed.code == render.ExitRejected && !strings.Contains(placed.stderr, "deciding: ") {
			return
		}
		if placed.code != 0 && placed.code != 3 {
			t.Fatalf("exit code %d\n%s\n%s", placed.code, placed.stderr, input)
		}
		if err := os.WriteFile(answer, []byte(placed.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := invoke(t, check.Command(), input, "-f", "-", "-f", answer); got.code != 0 {
			t.Fatalf("exit code %d\n%s%s\n%s\nof\n%s", got.code, got.stdout, got.stderr, placed.stdout, input)
		}
	})
}

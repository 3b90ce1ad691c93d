package kubectlpacktree

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/mutants"
)

// FuzzDump: of any dump that is not refused there are an overview and a tree, and of each gang, one at a time, an
// explanation and its drawing.
func FuzzDump(f *testing.F) {
	inputs := mutants.Files(f, scheduling.CarriedAnnotations(), "testdata/zones.yaml", "testdata/cluster.yaml")
	f.Fuzz(func(t *testing.T, file uint8, program []byte) {
		input := inputs(file, program)
		documents, findings := manifests.Parse("dump", input)
		dump, more := inventory.Read(documents)
		for _, finding := range append(findings, more...) {
			if !finding.Warning {
				return
			}
		}
		p, read := &plugin{now: func() time.Time { return time.Unix(1_750_000_000, 0) }}, &live.Cluster{Inventory: dump}
		seen, err := p.decided(t.Context(), read, overview.Question{})
		if err != nil {
			return // There are no nodes, or the Topologies are not understood.
		}
		_, err = json.Marshal(seen)
		require.NoError(t, err, "of\n%s", input)
		pen, shown := &drawing.Pen{Columns: len(program), Bars: file > math.MaxInt8}, &showing{plugin: p}
		_ = drawTree(pen, seen, "")
		shown.read.Store(read)
		if groups := len(dump.PodGroups); groups > 0 {
			podGroup := dump.PodGroups[int(file/2)%groups] // The lowest bit chooses the seed.
			_, _ = shown.history(t.Context(), podGroup.Namespace, podGroup.Name)
			target := explanation.Target{Kind: explanation.KindPodGroup, Name: podGroup.Name}
			report, err := explanation.Of(t.Context(), dump, podGroup.Namespace, target)
			if _, wrong := json.Marshal(report); err != nil || wrong != nil {
				t.Fatalf("%s: %v, %v of\n%s", podGroup.Name, err, wrong, input)
			}
			_ = drawExplanation(pen, report)
		}
	})
}

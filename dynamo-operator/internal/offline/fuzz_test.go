package offline_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/dynamo-operator/internal/offline"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/mutants"
)

// FuzzRender: whatever is written, it is refused with a reason, or becomes objects, the same ones each time, which can
// be read again.
func FuzzRender(f *testing.F) {
	inputs := mutants.Files(f, []string{"nvidia.com/v1alpha1", "nvidia.com/v1beta1"}, "testdata/*/input*.yaml")
	f.Fuzz(func(t *testing.T, file uint8, program []byte) {
		documents, findings := manifests.Parse("in", inputs(file, program))
		if len(findings) > 0 {
			return
		}
		once, again := renderedOf(t, documents), renderedOf(t, documents)
		require.True(t, bytes.Equal(once, again), "once\n%s\nthen\n%s", once, again)
		_, findings = manifests.Parse("out", once)
		require.Empty(t, findings)
	})
}

// renderedOf is what documents become; nothing if they are refused.
func renderedOf(t *testing.T, documents []manifests.Document) []byte {
	objects, findings := offline.Renderer{}.Render(documents)
	refused := func(finding manifests.Finding) bool { return finding.String() == "" || !finding.Warning }
	if slices.ContainsFunc(findings, refused) {
		return nil
	}
	var written bytes.Buffer
	require.NoError(t, manifests.Write(&written, manifests.JSON, objects))
	return written.Bytes()
}

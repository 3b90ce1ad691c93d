package manifests_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/manifests"
)

// FuzzParse: what is read of any file is written the same when it was written and read again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"# a\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: x, args: [\"1\", 2, ~]}]}\n---\n",
		"%YAML 1.1\n--- {apiVersion: v1, kind: List, items: [{kind: Node, apiVersion: v1, metadata: {name: 12}}]}\n...\n",
		`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}}]} {"kind":"x"}`,
		"\xff\xfe" + wide("kind: x\r\nspec: &a {b: 1e3}\r\nmore: {<<: *a, b: 0x1F}\r\n"),
		"apiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\napiVersion: v1\nkind: Node\n\tx: |\n  kind: y\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		documents, findings := manifests.Parse("f", content)
		for _, finding := range findings {
			_ = finding.String()
		}
		for _, document := range documents {
			for _, format := range []manifests.Format{manifests.YAML, manifests.JSON} {
				once := written(t, format, document)
				again, wrong := manifests.Parse("again", once)
				if len(again) != 1 || len(wrong) > 0 {
					t.Fatalf("%d documents, %v of\n%s", len(again), wrong, once)
				}
				twice := written(t, format, again[0])
				require.True(t, bytes.Equal(once, twice), "read again\n%s\nas\n%s", once, twice)
			}
		}
	})
}

func written(t *testing.T, format manifests.Format, document manifests.Document) []byte {
	var text bytes.Buffer
	require.NoError(t, manifests.Write(&text, format, []runtime.Object{document.Object}))
	return text.Bytes()
}

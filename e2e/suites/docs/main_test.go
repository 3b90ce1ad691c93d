// Package docs_test tests the documentation: every manifest is applied, every command that can be run is run, and the
// output on a page is compared with the real one. Comments above the blocks, which package pages reads, say how each
// block is tested.
package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/pages"
)

// patience bounds each wait, on a busy machine.
const patience = 4 * time.Minute

// read are all pages for users and contributors.
func read(t *testing.T) (root string, all []pages.Page) {
	t.Helper()
	root, err := devcluster.Repository()
	require.NoError(t, err)
	below := []string{"README.md", "CONTRIBUTING.md", "docs", "e2e/suites/README.md"}
	for _, pattern := range []string{"charts/*/README.md", "*/CHANGELOG", "charts/*/CHANGELOG"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("pages at %s: %v, %v", pattern, found, err)
		}
		for _, one := range found {
			below = append(below, strings.TrimPrefix(one, root+string(filepath.Separator)))
		}
	}
	all, err = pages.Read(root, below...)
	require.NoError(t, err)
	return root, all
}

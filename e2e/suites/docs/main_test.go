// Package docs_test tries what the documentation says: every manifest is applied, every command that can be run is run, and what a page
// shows of an answer is compared with the answer. What a page says about that stands in comments above the blocks, which package pages
// reads.
package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/pages"
)

// patience is how long anything may take, on a machine that does other things too.
const patience = 4 * time.Minute

// read are all pages that users and contributors read.
func read(t *testing.T) (root string, all []pages.Page) {
	t.Helper()
	root, err := devcluster.Repository()
	if err != nil {
		t.Fatal(err)
	}
	below := []string{"README.md", "CONTRIBUTING.md", "docs", "e2e/suites/README.md"}
	readmes, err := filepath.Glob(filepath.Join(root, "charts", "*", "README.md"))
	if err != nil || len(readmes) == 0 {
		t.Fatalf("READMEs of charts: %v, %v", readmes, err)
	}
	for _, readme := range readmes {
		below = append(below, strings.TrimPrefix(readme, root+string(filepath.Separator)))
	}
	all, err = pages.Read(root, below...)
	if err != nil {
		t.Fatal(err)
	}
	return root, all
}

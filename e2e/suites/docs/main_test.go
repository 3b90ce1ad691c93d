// Package docs_test tries what the documentation says: every manifest is applied, every command that can be run is run, and what a page
// shows of an answer is compared with the answer. What a page says about that stands in comments above the blocks, which package pages
// reads.
package docs_test

import (
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
	all, err = pages.Read(root, "README.md", "CONTRIBUTING.md", "charts", "docs", "e2e/suites/README.md")
	if err != nil {
		t.Fatal(err)
	}
	return root, all
}

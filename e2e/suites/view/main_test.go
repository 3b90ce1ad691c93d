// Package view_test opens the page of `kubectl packtree view` in a real Chromium and uses it as people do.
package view_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/devcluster"
)

// patience bounds each wait, on a busy machine.
const patience = 4 * time.Minute

func root(t *testing.T) string {
	t.Helper()
	root, err := devcluster.Repository()
	require.NoError(t, err)
	return root
}

// packtree is the plugin as `make build` made it, without a cluster.
func packtree(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(ctx, filepath.Join(root(t), "bin", "kubectl-packtree"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
	return command
}

// export returns the page of a dump as a file.
func export(t *testing.T, d *dump) string {
	t.Helper()
	page := filepath.Join(t.TempDir(), "page.html")
	command := packtree(t.Context(), t, "view", "-f", d.write(t), "--export", page)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return page
}

// axe is the accessibility checker, which is installed with the page's packages.
func axe(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(root(t), "kai-topology-plugin", "internal", "cli", "view", "page")
	file := filepath.Join(folder, "node_modules", "axe-core", "axe.min.js")
	script, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		fetch := exec.CommandContext(t.Context(), "npm", "ci")
		fetch.Dir = folder
		said, failed := fetch.CombinedOutput()
		if failed != nil && os.Getenv("CI") == "" {
			t.Skipf("axe cannot be fetched: %v: %s", failed, said)
		}
		script, err = os.ReadFile(file)
	}
	require.NoError(t, err)
	return string(script)
}

// violations returns axe's findings about the present page.
func violations(page *tab, axe string) []string {
	if !evaluate[bool](page, "!!window.axe") {
		evaluate[bool](page, axe+";true")
	}
	return evaluate[[]string](page, `axe.run(document, {resultTypes: ["violations"]}).then((found) =>
		found.violations.flatMap(({id, nodes}) => nodes.map((node) => id + ": " + node.html + " " + node.failureSummary)))`)
}

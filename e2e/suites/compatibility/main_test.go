// Package compatibility_test runs today's programs on what an earlier release left: its definitions, and objects as it
// stored them.
package compatibility_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/compatibility"
	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

// patience bounds each wait, on a busy machine.
const patience = 4 * time.Minute

// installation is a cluster with programs of today, and charts that a test may exchange.
type installation struct {
	*live.Own
	clone clone
}

// until waits, and prints the cluster's state if it fails.
func (i *installation) until(ctx context.Context, t *testing.T, what string, look live.Look) {
	t.Helper()
	live.Scenario{Patience: patience, Report: i.report}.Until(i.While(ctx), t, what, look)
}

func (i *installation) must(ctx context.Context, t *testing.T, err error) {
	t.Helper()
	live.Scenario{Patience: patience, Report: i.report}.Must(ctx, t, err)
}

// asks runs a kubectl that succeeds, again if there was no answer.
func (i *installation) asks(ctx context.Context, t *testing.T, namespace string, args ...string) {
	t.Helper()
	i.until(ctx, t, "kubectl is answered", func(ctx context.Context) (bool, string, error) {
		said, err := i.Kubectl(ctx, namespace, args...)
		if err != nil && !live.Unanswered(said) {
			i.must(ctx, t, err)
		}
		return err == nil, said, nil
	})
}

func (i *installation) report(ctx context.Context) string {
	text := ""
	for _, space := range []string{namespace, newcomers, early} {
		text += i.Reasons(ctx, space)
		said, _ := i.Kubectl(ctx, space, "get", "dgd,pcs,pclq,pcsg,podgangs,podgroups.scheduling.run.ai,pods",
			"-o", "wide")
		text += said
	}
	for _, component := range devcluster.Components {
		text += "--- " + component + "\n" + i.LogLines(component, "rror", 15) + "\n"
	}
	return text
}

// repository is the clone that the test runs in.
func repository(t *testing.T) string {
	t.Helper()
	root, err := devcluster.Repository()
	require.NoError(t, err)
	return root
}

func testdata(t *testing.T) string {
	t.Helper()
	return filepath.Join(repository(t), "e2e", "compatibility", "testdata")
}

// bringUp starts a cluster with charts that have the given definitions, by the names of their files.
func bringUp(t *testing.T, nodes string, definitions map[string][]byte) *installation {
	t.Helper()
	i := &installation{clone: newClone(t)}
	i.clone.define(t, definitions)
	var err error
	if i.Own, err = live.BringUpForTests(t.Context(), devcluster.Options{Root: string(i.clone), NodesFile: nodes}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		assert.NoError(t, i.TakeDown(context.WithoutCancel(t.Context())))
	})
	return i
}

// clone looks like a clone of the repository, with charts of its own.
type clone string

func newClone(t *testing.T) clone {
	t.Helper()
	root, own := repository(t), t.TempDir()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.Name() == "charts" {
			continue
		}
		require.NoError(t, os.Symlink(filepath.Join(root, entry.Name()), filepath.Join(own, entry.Name())))
	}
	return clone(own)
}

// define copies today's charts, with these definitions instead of those of today. With none they stay as they are.
func (c clone) define(t *testing.T, definitions map[string][]byte) {
	t.Helper()
	charts := filepath.Join(string(c), "charts")
	require.NoError(t, os.RemoveAll(charts))
	require.NoError(t, compatibility.CopyCharts(filepath.Join(repository(t), "charts"), charts, definitions))
}

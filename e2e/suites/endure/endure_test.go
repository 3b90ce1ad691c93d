// Package endure_test runs a campaign of faults. Two minutes of it are part of make test; make endure runs as long as
// wanted.
package endure_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/endure"
	"packtree.dev/e2e/live"
)

var (
	seed   = flag.Uint64("endure.seed", 1, "seed of the acts")
	length = flag.Duration("endure.length", 2*time.Minute, "time in which acts happen")
	rate   = flag.Int("endure.rate", 1, "multiplies the faults")
)

func TestCampaign(t *testing.T) {
	own, err := live.BringUpForTests(t.Context(), devcluster.Options{Nodes: []*corev1.Node{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := own.TakeDown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	report, err := endure.Run(t.Context(), own, endure.Options{
		Seed: *seed, Length: *length, Rate: *rate, Patience: 20 * time.Minute, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if len(report.Violations) > 0 {
		t.Errorf("%d violations; once more: make endure LENGTH=%s SEED=%d RATE=%d", len(report.Violations), *length, *seed,
			*rate)
		if err := os.CopyFS(t.ArtifactDir(), os.DirFS(filepath.Join(own.Machine.Dir, "logs"))); err != nil {
			t.Error(err)
		}
	}
	for _, what := range []string{"programs killed", "node faults", "API calls refused", "pods bound", "workloads ended"} {
		if report.Counts[what] == 0 {
			t.Errorf("none of the %s: nothing is proved", what)
		}
	}
}

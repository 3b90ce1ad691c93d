package scheduler_test

import (
	"context"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/apiproxy"
	"packtree.dev/e2e/chaos"
)

// TestChaos is a short version of the command e2e/cmd/chaos.
func TestChaos(t *testing.T) {
	var run *chaos.Run
	cluster.Test(t, features.New("chaos").
		Setup(func(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
			run = chaos.New(cluster.Own, envconf.RandomName("chaos", 14), chaos.Options{
				Gangs: 40, Pace: 500 * time.Millisecond, Racks: 2, Failing: 0.1, Kill: 8 * time.Second,
				Trouble:  500 * time.Millisecond,
				Patience: 4 * time.Minute, Seed: uint64(time.Now().UnixNano()), Progress: os.Stderr,
			})
			bindings.otherwiseBy(run.Fate)
			return ctx
		}).
		Assess("gangs stand whole in their domains, or wait and say why, and place agrees",
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				report, err := run.Do(ctx)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("seed %d: %s", run.Seed, report)
				if len(report.Violations) > 0 {
					t.Errorf("%d violations\n%s", len(report.Violations),
						cluster.LogLines(schedulerProgram, run.Name, 100))
				}
				if report.Standing == 0 || report.Counts["bindings refused"] == 0 || report.Counts["bindings unanswered"] == 0 {
					t.Errorf("hardly anything happened, so that nothing is proved")
				}
				return ctx
			}).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			bindings.otherwiseBy(func(apiproxy.Binding) apiproxy.Fate { return apiproxy.Made })
			if err := run.Clean(ctx); err != nil {
				t.Error(err)
			}
			return ctx
		}))
}

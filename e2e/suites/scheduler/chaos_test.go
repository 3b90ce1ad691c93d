package scheduler_test

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/chaos"
)

// Flags make the run longer. With `-v` and these it takes minutes:
//
//	go test -count=1 -v -timeout 60m ./e2e/suites/scheduler -run TestChaos -chaos.gangs 1000 -chaos.racks 56
var chaosOptions = chaos.Options{Patience: 4 * time.Minute, Progress: os.Stderr}

func init() {
	flag.IntVar(&chaosOptions.Gangs, "chaos.gangs", 40, "how many gangs come")
	flag.DurationVar(&chaosOptions.Pace, "chaos.pace", 500*time.Millisecond, "time between two gangs")
	flag.IntVar(&chaosOptions.Racks, "chaos.racks", 2, "racks of 8 nodes with 8 GPUs each")
	flag.Float64Var(&chaosOptions.Failing, "chaos.failing", 0.1, "share of bindings that fail")
	flag.DurationVar(&chaosOptions.Kill, "chaos.kill", 8*time.Second, "time between two deaths of the scheduler")
	flag.DurationVar(&chaosOptions.Trouble, "chaos.trouble", 500*time.Millisecond,
		"time between two changes of nodes, of pods, of PodGroups")
	flag.Uint64Var(&chaosOptions.Seed, "chaos.seed", uint64(time.Now().UnixNano()), "seed of the choices")
}

func TestChaos(t *testing.T) {
	var run *chaos.Run
	cluster.Test(t, features.New("chaos").
		Setup(func(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
			run = chaos.New(cluster.Own, envconf.RandomName("chaos", 14), chaosOptions)
			decide := run.Fate
			fate.Store(&decide)
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
			fate.Store(nil)
			if err := run.Clean(ctx); err != nil {
				t.Error(err)
			}
			return ctx
		}))
}

package kueue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// TestCheck has the scheduler asked before quota is given: a gang without room gets none, and the reason is the
// scheduler's.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 1)
	cluster.Test(t, features.New("fits before admission").
		Setup(w.create).
		Assess("a gang that no rack holds is not admitted", suite.AllOf(
			w.Applies("check.yaml"), w.Applies("fits.yaml"), w.evictedByCheck("fits-0"),
			w.Shows([]string{"waits for quota in queue green"}, "get", "pcs", "fits", "-o", "yaml"))).
		Assess("it is admitted when there is room, also by a scheduler that has died in between", suite.AllOf(
			w.Without("kai-topology-plugin", true, func(
				ctx context.Context, t *testing.T, _ *envconf.Config,
			) context.Context {
				w.Must(ctx, t, cluster.Create(ctx, w.node(0, 1)))
				return ctx
			}),
			w.runs("app.kubernetes.io/part-of=fits", 2), w.uses("green", 2))).
		Teardown(w.remove))
}

// evictedByCheck waits until Kueue has taken the quota of a workload back, since its gang does not fit.
func (w *world) evictedByCheck(workload string) func(context.Context, *testing.T, *envconf.Config) context.Context {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, workload+" is refused by the scheduler", func(ctx context.Context) (bool, string, error) {
			said, err := cluster.Kubectl(ctx, w.Name, "get", "workloads.kueue.x-k8s.io", workload, "-o", "yaml")
			return strings.Contains(said, "2 nvidia.com/gpu") || strings.Contains(said, "AdmissionCheck"),
				fmt.Sprint(said), err
		})
		return ctx
	}
}

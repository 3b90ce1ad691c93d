package kueue_test

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/devcluster/kueue"
	"packtree.dev/e2e/suites/internal/suite"
)

// TestTwoPreemptors shows why the pods of all teams need one PriorityClass: what the scheduler preempts goes on holding
// its quota, for Kueue does not know of it.
func TestTwoPreemptors(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	cluster.Test(t, features.New("two priority classes").
		Setup(w.create).
		Assess("a set runs", suite.AllOf(w.Applies("serve.yaml"), w.runs(ofServe, 2), w.uses("red", 2))).
		Assess("one of higher priority takes its nodes, and not its quota", suite.AllOf(
			w.Applies("urgent.yaml"), w.runs("app.kubernetes.io/part-of=urgent", 2), w.ready(ofServe, 0),
			w.uses("red", 4))).
		Assess("it comes again", suite.AllOf(
			w.Kubectl("delete", "pcs", "urgent"), w.runs(ofServe, 2), w.uses("red", 2))).
		Teardown(w.remove))
}

// TestWaitForPodsReady runs alone, since Kueue evicts in all worlds what does not run soon: also a gang that waits for
// room.
func TestWaitForPodsReady(t *testing.T) {
	w := newWorld(1, 1)
	waits := func(timeout string) e2e.StepFunc {
		return w.Without(kueue.Program, false,
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				w.Must(ctx, t, kueue.WaitForPodsReady(cluster.Machine, timeout))
				return ctx
			})
	}
	cluster.Test(t, features.New("a gang that waits for room").
		Setup(w.create).
		Assess("it is evicted", suite.AllOf(
			waits("3s"), w.Applies("serve.yaml"), w.HasEvent("Workload", "serve-0", "EvictedDueToPodsReadyTimeout"))).
		Assess("Kueue waits no more", waits("")).
		Teardown(w.remove))
}

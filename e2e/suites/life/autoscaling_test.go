package life_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// autoscaling checks that Kubernetes' own autoscalers follow the load of a PodClique, by CPU; of a scaling group, by
// a queue; and of another one, with copies of four pods, by CPU.
func autoscaling(w *setWorld) *features.FeatureBuilder {
	load := serveLoads()
	runs := func(image string, fronts, queued, busy int) types.StepFunc {
		all := map[string]int{"llm-0-front": fronts}
		for j := range queued {
			all[fmt.Sprintf("llm-0-g-%d-leader", j)], all[fmt.Sprintf("llm-0-g-%d-worker", j)] = 1, 2
		}
		for j := range busy {
			all[fmt.Sprintf("llm-0-h-%d-head", j)], all[fmt.Sprintf("llm-0-h-%d-hand", j)] = 2, 2
		}
		return w.runs(image, all)
	}
	return features.New("autoscaling").
		Setup(suite.AllOf(w.create, func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			w.Must(ctx, t, load.aggregate(ctx))
			return ctx
		})).
		Assess("a set runs", suite.AllOf(w.applies("autoscaled.yaml"), runs("engine:1", 1, 1, 1))).
		Assess("load comes, and the autoscalers ask for more",
			w.WhileTheOperatorIsDead(w.isLoaded(load, 2000, 28, 1500), w.isAskedFor(4, 3, 3))).
		Assess("which run then", suite.AllOf(runs("engine:1", 4, 3, 3), w.isReadyAgain("llm", 1))).
		Assess("an update of the set leaves them their size",
			suite.AllOf(w.edits("llm", template("engine:2")), w.TheOperatorDies, runs("engine:2", 4, 3, 3),
				w.isReadyAgain("llm", 1))).
		Assess("the load goes, and what is not needed does too",
			suite.AllOf(w.isLoaded(load, 700, 12, 900), runs("engine:2", 2, 2, 2))).
		Assess("down to what is set as the least",
			suite.AllOf(w.isLoaded(load, 0, 0, 0), w.TheOperatorDies, runs("engine:2", 1, 1, 1),
				w.isReadyAgain("llm", 1))).
		Teardown(func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
			w.Must(ctx, t, load.end(ctx))
			return w.remove(ctx, t, config)
		})
}

// isLoaded sets the load: CPU of the clique, in thousandths, requests that wait for the first group, and CPU of the
// second, counted as one working pod a copy.
func (w *setWorld) isLoaded(l *loads, cpu, waiting, busy int64) types.StepFunc {
	return func(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cpu["llm-0-front"], l.queue[w.Name], l.cpu["llm-0-h"] = cpu, waiting, busy
		return ctx
	}
}

// isAskedFor waits until the autoscalers have scaled their targets, for which no operator is needed.
func (w *setWorld) isAskedFor(fronts, queued, busy int32) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		want := [...]int32{fronts, queued, busy}
		w.Until(ctx, t, fmt.Sprintf("%v fronts and copies of the groups are asked for", want),
			func(ctx context.Context) (bool, string, error) {
				front, byQueue, byCPU := &grove.PodClique{}, &grove.PodCliqueScalingGroup{},
					&grove.PodCliqueScalingGroup{}
				for name, object := range map[string]client.Object{"llm-0-front": front, "llm-0-g": byQueue,
					"llm-0-h": byCPU} {
					if err := cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, object); err != nil {
						return false, "", err
					}
				}
				got := [...]int32{front.Spec.Replicas, byQueue.Spec.Replicas, byCPU.Spec.Replicas}
				return got == want, fmt.Sprint(got, " are"), nil
			})
		return ctx
	}
}

package grove_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// autoscaling has Kubernetes' own autoscalers follow the load of a PodClique, by CPU, and of a scaling group, by a queue.
func autoscaling(w *world) *features.FeatureBuilder {
	load := serveLoads()
	runs := func(image string, fronts, copies int) types.StepFunc {
		all := map[string]int{"llm-0-front": fronts}
		for j := range copies {
			all[fmt.Sprintf("llm-0-g-%d-leader", j)], all[fmt.Sprintf("llm-0-g-%d-worker", j)] = 1, 2
		}
		return w.runs(image, all)
	}
	return features.New("autoscaling").
		Setup(allOf(w.create, func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			w.must(ctx, t, load.aggregate(ctx))
			return ctx
		})).
		Assess("a set runs", allOf(w.applies("autoscaled.yaml"), runs("engine:1", 1, 1))).
		Assess("load comes, and the autoscalers ask for more", w.whileTheOperatorIsDead(w.isLoaded(load, 2000, 28), w.isAskedFor(4, 3))).
		Assess("which run then", allOf(runs("engine:1", 4, 3), w.isReadyAgain("llm", 1))).
		Assess("an update of the set leaves them their size", allOf(w.edits("llm", template("engine:2", false)), runs("engine:2", 4, 3), w.isReadyAgain("llm", 1))).
		Assess("the load goes, and what is not needed does too", allOf(w.isLoaded(load, 700, 12), runs("engine:2", 2, 2))).
		Assess("down to what is set as the least", allOf(w.isLoaded(load, 0, 0), w.theOperatorDies, runs("engine:2", 1, 1), w.isReadyAgain("llm", 1))).
		Teardown(func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
			w.must(ctx, t, load.end(ctx))
			return w.remove(ctx, t, config)
		})
}

// isLoaded sets the load: CPU of the clique, in thousandths, and requests that wait for the group.
func (w *world) isLoaded(l *loads, cpu, waiting int64) types.StepFunc {
	return func(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cpu["llm-0-front"], l.queue[w.name] = cpu, waiting
		return ctx
	}
}

// isAskedFor waits until the autoscalers have scaled their targets, which takes no operator.
func (w *world) isAskedFor(fronts, copies int32) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.until(ctx, t, fmt.Sprintf("%d fronts and %d copies are asked for", fronts, copies), func(ctx context.Context) (bool, string, error) {
			front, group := &grove.PodClique{}, &grove.PodCliqueScalingGroup{}
			if err := cluster.Get(ctx, client.ObjectKey{Namespace: w.name, Name: "llm-0-front"}, front); err != nil {
				return false, "", err
			}
			err := cluster.Get(ctx, client.ObjectKey{Namespace: w.name, Name: "llm-0-g"}, group)
			return front.Spec.Replicas == fronts && group.Spec.Replicas == copies, fmt.Sprintf("%d and %d are", front.Spec.Replicas, group.Spec.Replicas), err
		})
		return ctx
	}
}

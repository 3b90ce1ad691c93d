package grove_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

// size are the replicas of a set of testdata/scaling.yaml.
type size struct{ sets, routers, copies int }

func (s size) podCliques() map[string]int {
	all := map[string]int{}
	for i := range s.sets {
		if s.routers > 0 {
			all[fmt.Sprintf("llm-%d-router", i)] = s.routers
		}
		for j := range s.copies {
			all[fmt.Sprintf("llm-%d-g-%d-leader", i, j)], all[fmt.Sprintf("llm-%d-g-%d-worker", i, j)] = 1, 1
		}
	}
	return all
}

// scaling scales all three kinds in and out, with kubectl, on nodes with room for 14 pods.
func scaling(w *world) *features.FeatureBuilder {
	var small, scheduled suite.Memory
	set, routers, group := w.scale("pcs/llm"), w.scale("pclq/llm-0-router"), w.scale("pcsg/llm-0-g")
	runs := func(s size) types.StepFunc { return w.runs("engine:1", s.podCliques()) }
	return features.New("scaling").
		Setup(w.create).
		Assess("a set runs",
			suite.AllOf(w.applies("scaling.yaml"), runs(size{1, 2, 1}), w.isReadyAgain("llm", 1),
				w.remembers("llm", &small))).
		Assess("the set goes out to three replicas",
			suite.AllOf(set(3), w.TheOperatorDies, runs(size{3, 2, 1}), w.isReadyAgain("llm", 3))).
		Assess("and in to one, which has all that it had and nothing else",
			suite.AllOf(set(1), w.TheOperatorDies, w.isAsIn(&small, "llm"))).
		Assess("the group goes out further than there is room",
			suite.AllOf(w.WhileTheOperatorIsDead(group(8)), w.pending(4))).
		Assess("and in while its pods are pending", suite.AllOf(w.WhileTheOperatorIsDead(group(3)),
			runs(size{1, 2, 3}))).
		Assess("to where it began, with all that it had", suite.AllOf(group(1), w.isAsIn(&small, "llm"))).
		Assess("a PodClique goes out further than there is room",
			suite.AllOf(w.WhileTheOperatorIsDead(routers(14)), w.pending(2), w.remembers("llm", &scheduled))).
		Assess("and in by those that are pending", suite.AllOf(
			w.WhileTheOperatorIsDead(routers(12)), runs(size{1, 12, 1}), w.hasNothingBut(&scheduled, "llm"))).
		Assess("and in to those that it had first", suite.AllOf(routers(2), w.isAsIn(&small, "llm"))).
		Assess("all of it goes to zero and back, one by one", suite.AllOf(
			routers(0), runs(size{1, 0, 1}), w.TheOperatorDies, routers(2), runs(size{1, 2, 1}),
			group(0), runs(size{1, 2, 0}), w.TheOperatorDies, group(1), runs(size{1, 2, 1}),
			set(0), w.TheOperatorDies, runs(size{}), set(1), runs(size{1, 2, 1}), w.isReadyAgain("llm", 1))).
		Assess("while an update waits everything goes out", suite.AllOf(
			w.edits("llm", template("engine:2", true)), w.waitsInReplica(0, "engine:2"), routers(4), group(3),
			w.TheOperatorDies,
			w.podsAre(10))).
		Assess("and in", suite.AllOf(group(2), routers(3), w.podsAre(7))).
		Assess("and keeps its size when the update goes on", suite.AllOf(
			w.edits("llm", template("engine:3", false)), w.TheOperatorDies,
			w.runs("engine:3", size{1, 3, 2}.podCliques()),
			w.isReadyAgain("llm", 1))).
		Teardown(w.remove)
}

// scale is kubectl scale of an object.
func (w *world) scale(object string) func(replicas int) types.StepFunc {
	return func(replicas int) types.StepFunc {
		return w.kubectl("scale", object, fmt.Sprintf("--replicas=%d", replicas))
	}
}

// pending waits until all pods are ready except so many, for which the scheduler has found no place.
func (w *world) pending(count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("14 pods are ready and %d have no place", count),
			func(ctx context.Context) (bool, string, error) {
				pods, err := w.Pods(ctx)
				refused, ready := 0, 0
				for i := range pods {
					for _, condition := range pods[i].Status.Conditions {
						if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
							refused++
						}
					}
					if suite.IsReady(&pods[i]) {
						ready++
					}
				}
				return refused == count && ready == 14 &&
						len(pods) == ready+refused, fmt.Sprintf("%d refused, %d ready, %d in all",
						refused, ready, len(pods)), err
			})
		return ctx
	}
}

// podsAre waits until there are so many pods, whatever they do.
func (w *world) podsAre(count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("there are %d pods", count), func(ctx context.Context) (bool, string, error) {
			pods, err := w.Pods(ctx)
			return len(pods) == count, fmt.Sprintf("%d", len(pods)), err
		})
		return ctx
	}
}

// hasNothingBut checks that a set has only remembered objects, so that nothing was replaced.
func (w *world) hasNothingBut(remembered *suite.Memory, set string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		objects, err := w.objects(set)(ctx)
		w.Must(ctx, t, err)
		for name, uid := range objects {
			if (*remembered)[name] != uid {
				t.Errorf("%s has been replaced: %s", name, remembered.Difference(objects))
			}
		}
		return ctx
	}
}

package grouping_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/placement"
	"packtree.dev/e2e/suites/internal/suite"
)

// segments is a Job in three segments. The zone has racks for two of them, and room for three pods of the third.
func segments(w *world) *features.FeatureBuilder {
	pods := labelled(batchv1.JobNameLabel, "rings")
	ring := func(number int) placement.Claim {
		return w.inRack(fmt.Sprint("ring ", number), 4, indexed(pods, 4*number, 4*number+3))
	}
	const tree = "root 2 groups, segment-0 4 pods, segment-1 4 pods, segment-2 4 pods"
	return features.New("segments").
		Setup(w.create).
		Assess("two segments stand in a rack each, and of the third no pod stands", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Applies("segments.yaml")), w.grouped(12, pods), w.twoOfThree(ring))).
		Assess("the PodGroup is a tree of segments", w.isOnlyGroupOf("job", "rings", tree)).
		Assess("the third stands when a rack has room for all of it", suite.AllOf(
			w.TheOperatorDies, w.nodeComes(rack{"a", "3", 3}),
			w.stands(ring(0), ring(1), ring(2), w.inZone("rings", 12, pods)))).
		Assess("a Job of the same name begins anew", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "job", "rings", "--cascade=foreground"),
				w.Applies("segments.yaml")),
			w.stands(ring(0), ring(1), ring(2), w.inZone("rings", 12, pods)), w.isOnlyGroupOf("job", "rings", tree))).
		Teardown(w.remove)
}

// indexed selects the pods of a Job with the indices first to last.
func indexed(pods selector, first, last int) selector {
	return func(pod *corev1.Pod) bool {
		index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
		return err == nil && pods(pod) && first <= index && index <= last
	}
}

// twoOfThree waits until two segments are placed and the scheduler has said for each pod of the other one that it has
// no place.
func (w *world) twoOfThree(
	ring func(int) placement.Claim,
) func(context.Context, *testing.T, *envconf.Config) context.Context {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "two of three segments stand, and the third waits", func(ctx context.Context) (bool,
			string, error) {
			findings, err := w.judge(ctx, []placement.Claim{ring(0), ring(1), ring(2)})
			if err != nil {
				return false, "", err
			}
			stand := 0
			for _, finding := range findings {
				switch {
				case finding.Held():
					stand++
				case finding.Bound > 0:
					return false, sentences(findings), nil
				}
			}
			waits, err := w.unplaced(ctx, labelled(batchv1.JobNameLabel, "rings"))
			return stand == 2 && waits == 4, fmt.Sprintf("%s; %d pods wait", sentences(findings), waits), err
		})
		return ctx
	}
}

// unplaced counts the pods for which the scheduler has said that they have no place.
func (w *world) unplaced(ctx context.Context, selects selector) (int, error) {
	pods, err := w.Pods(ctx)
	count := 0
	for i := range pods {
		for _, condition := range pods[i].Status.Conditions {
			if selects(&pods[i]) && condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				count++
			}
		}
	}
	return count, err
}

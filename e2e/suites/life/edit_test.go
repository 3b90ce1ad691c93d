package life_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// oneEdit changes at once how many pods a copy has, how many copies there are, and their template, on a node that is
// full. The pods that go make room for the further copy that comes first.
func oneEdit(w *setWorld) *features.FeatureBuilder {
	const neighbour = "neighbour-0-worker"
	return features.New("one edit of size, number and template").
		Setup(w.create).
		Assess("a group and its neighbour fill a node", suite.AllOf(
			w.applies("full-node.yaml"), w.isReadyAgain("llm", 1), w.isReadyAgain("neighbour", 1),
			w.has(map[string]int{"engine:1": 4, "engine:2": 2}),
			w.Guards(suite.CopiesOf("llm-0-g", 4, map[string]int{"worker": 1}, 2), suite.PodsOf(neighbour, 2)))).
		Assess("the edit is carried out", suite.AllOf(
			w.edits("llm", func(set *grove.PodCliqueSet) {
				template("engine:2")(set)
				set.Spec.Template.Cliques[0].Spec.Replicas = 1
				set.Spec.Template.PodCliqueScalingGroups[0].Replicas = ptr.To[int32](3)
			}),
			w.runs("engine:2", map[string]int{
				"llm-0-g-0-worker": 1, "llm-0-g-1-worker": 1, "llm-0-g-2-worker": 1, neighbour: 2,
			}),
			w.isReadyAgain("llm", 1))).
		Assess("two copies served all the time, the neighbour stayed, and no pod was made twice", suite.AllOf(
			w.Kept, w.Created("engine:2", 5, 6))).
		Teardown(w.remove)
}

// template gives all cliques another image.
func template(image string) func(*grove.PodCliqueSet) {
	return func(set *grove.PodCliqueSet) {
		for i := range set.Spec.Template.Cliques {
			set.Spec.Template.Cliques[i].Spec.PodSpec.Containers[0].Image = image
		}
	}
}

// has waits until there are so many ready pods of each image, and no others.
func (w *setWorld) has(images map[string]int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("the ready pods are %v", images), func(ctx context.Context) (bool, string, error) {
			pods, err := w.Pods(ctx)
			found := map[string]int{}
			for i := range pods {
				if !suite.IsReady(&pods[i]) {
					found["not ready"]++
					continue
				}
				found[suite.Image(&pods[i])]++
			}
			return fmt.Sprint(found) == fmt.Sprint(images), fmt.Sprint(found), err
		})
		return ctx
	}
}

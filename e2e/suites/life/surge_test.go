package life_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// updateWithACopyMore changes a set with maxSurge, in a rack that has no room for another copy at first.
func updateWithACopyMore(w *setWorld) *features.FeatureBuilder {
	all := map[string]int{"llm-0-g-0-worker": 2, "llm-0-g-0-leader": 1, "llm-0-g-1-worker": 2, "llm-0-g-1-leader": 1}
	copies := func(least int) types.StepFunc {
		return w.Guards(suite.CopiesOf("llm-0-g", 3, map[string]int{"worker": 2, "leader": 1}, least))
	}
	ended := w.says("llm", "its update is over", func(set *grove.PodCliqueSet) bool {
		progress := set.Status.UpdateProgress
		return progress != nil && progress.UpdateEndedAt != nil
	})
	const waits = "PodCliqueScalingGroup llm-0-g waits for a further copy, as maxSurge wants: "
	return features.New("update with a copy more").
		Setup(w.create).
		Assess("a set runs", suite.AllOf(w.applies("one-more-copy.yaml"), w.runs("engine:1", all), copies(2))).
		Assess("its rack has no room for another copy, though the next one has, so all old ones stay", suite.AllOf(
			w.edits("llm", template("engine:2", true)), w.updateSays(grove.ReasonUpdateStopped, waits),
			w.has(map[string]int{"engine:1": 6, "not ready": 3}))).
		Assess("also after a crash of the operator", suite.AllOf(
			w.TheOperatorDies, w.updateSays(grove.ReasonUpdateStopped, waits),
			w.has(map[string]int{"engine:1": 6, "not ready": 3}))).
		Assess("the copy is placed when there is room, and where it does not start, it alone has the new template",
			suite.AllOf(
				w.nodeComes(0, 2, 4), w.inRack(0), w.TheOperatorDies,
				w.has(map[string]int{"engine:1": 6, "not ready": 3}), w.Created("engine:2", 3, 3))).
		Assess("another edit is where it goes on, and in the end the copy is gone", suite.AllOf(
			w.edits("llm", template("engine:3", false)), w.TheOperatorDies, w.runs("engine:3", all),
			w.isReadyAgain("llm", 1),
			ended, w.inRack(0))).
		Assess("the pods of the further copy were made once more, those of the others once", suite.AllOf(
			w.Created("engine:2", 3, 3), w.Created("engine:3", 9, 9), w.Kept)).
		Assess("without maxSurge one copy goes, and no other one before it is back", suite.AllOf(
			copies(1),
			w.edits("llm", func(set *grove.PodCliqueSet) {
				larger("engine:4", 5)(set)
				group := &set.Spec.Template.PodCliqueScalingGroups[0]
				group.MaxUnavailable, group.MaxSurge = ptr.To[int32](1), nil
			}),
			w.updateSays(grove.ReasonUpdateStopped, "some of them stand on no node yet: PodGang llm-0 waits: "),
			w.has(map[string]int{"engine:3": 3, "not ready": 3}), w.edits("llm", larger("engine:5", 1)),
			w.runs("engine:5", all), w.isReadyAgain("llm", 1), w.inRack(0), w.Created("engine:4", 3, 3),
			w.Created("engine:5", 6, 6), w.Kept)).
		Teardown(w.remove)
}

// updateSays waits until the condition Updating has a reason, and words in its message.
func (w *setWorld) updateSays(reason, words string) types.StepFunc {
	return w.says("llm", reason+": "+words, func(set *grove.PodCliqueSet) bool {
		updating := meta.FindStatusCondition(set.Status.Conditions, grove.ConditionUpdating)
		return updating != nil && updating.Reason == reason && strings.Contains(updating.Message, words)
	})
}

// inRack waits until all pods are on nodes, in one rack.
func (w *setWorld) inRack(rack int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("all pods stand in rack %d", rack), func(ctx context.Context) (bool,
			string, error) {
			pods, err := w.Pods(ctx)
			for i := range pods {
				prefix := strings.TrimSuffix(w.node(rack, 0, 0).Name, "0")
				if node := pods[i].Spec.NodeName; !strings.HasPrefix(node, prefix) {
					return false, fmt.Sprintf("pod %s is on %q", pods[i].Name, node), nil
				}
			}
			return err == nil, "", err
		})
		return ctx
	}
}

// template gives all cliques another image; held pods are on their nodes and do not become ready.
func template(image string, held bool) func(*grove.PodCliqueSet) {
	return func(set *grove.PodCliqueSet) {
		for i := range set.Spec.Template.Cliques {
			clique := &set.Spec.Template.Cliques[i]
			clique.Spec.PodSpec.Containers[0].Image = image
			clique.Annotations = nil
			if held {
				clique.Annotations = map[string]string{hold: "until the suite lets it start"}
			}
		}
	}
}

// larger gives the pods of the first clique so many GPUs, and all another image.
func larger(image string, gpus int) func(*grove.PodCliqueSet) {
	return func(set *grove.PodCliqueSet) {
		template(image, false)(set)
		list := corev1.ResourceList{live.GPU: *resource.NewQuantity(int64(gpus), resource.DecimalSI)}
		set.Spec.Template.Cliques[0].Spec.PodSpec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list,
			Limits: list}
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

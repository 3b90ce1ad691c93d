package grove_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

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

// rollingUpdate changes a set whose replicas have a router and a scaling group with spare copies.
func rollingUpdate(w *world) *features.FeatureBuilder {
	const pods = 18
	all := map[string]int{}
	var floors []suite.Floor
	for i := range 2 {
		replica := fmt.Sprintf("llm-%d-", i)
		all[replica+"router"] = 3
		floors = append(floors, suite.PodsOf(replica+"router", 2),
			suite.CopiesOf(replica+"g", 2, map[string]int{"leader": 1, "worker": 2}, 1))
		for j := range 2 {
			all[fmt.Sprintf("%sg-%d-leader", replica, j)], all[fmt.Sprintf("%sg-%d-worker", replica, j)] = 1, 2
		}
	}
	return features.New("rolling update").
		Setup(w.create).
		Assess("a set runs",
			suite.AllOf(w.applies("two-replicas.yaml"), w.runs("engine:1", all), w.isReadyAgain("llm", 2),
				w.Guards(floors...))).
		Assess("pods of a new template do not start, so its update waits",
			suite.AllOf(w.edits("llm", template("engine:2", true)), w.waitsInReplica(0, "engine:2"))).
		Assess("also after a crash of the operator", suite.AllOf(w.TheOperatorDies, w.waitsInReplica(0, "engine:2"))).
		Assess("a second edit is where all go from there", suite.AllOf(
			w.edits("llm", template("engine:3", false)), w.TheOperatorDies, w.runs("engine:3", all),
			w.isReadyAgain("llm", 2))).
		Assess("the first edit had cost no more than one pod or one copy of the group", w.Created("engine:2", 1, 3)).
		Assess("the second replaced each pod once", w.Created("engine:3", pods, pods)).
		Assess("and no minimum was ever undercut", w.Kept).
		Teardown(w.remove)
}

// waitsInReplica waits until pods with an image exist that do not start, all in one replica of the set, which reports
// its update.
func (w *world) waitsInReplica(replica int32, wanted string) types.StepFunc {
	return suite.AllOf(
		func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			w.Until(ctx, t, fmt.Sprintf("pods of %s stand in replica %d and nowhere else, not ready", wanted, replica),
				func(ctx context.Context) (bool, string, error) {
					pods, err := w.Pods(ctx)
					count := 0
					for i := range pods {
						pod := &pods[i]
						if suite.Image(pod) != wanted {
							continue
						}
						if suite.IsReady(pod) || pod.Spec.NodeName == "" ||
							pod.Labels["grove.io/podcliqueset-replica-index"] != fmt.Sprint(replica) {
							return false, fmt.Sprintf("pod %s: ready %v, on %q", pod.Name, suite.IsReady(pod),
								pod.Spec.NodeName), nil
						}
						count++
					}
					return count > 0, "there are none", err
				})
			return ctx
		},
		w.says("llm", fmt.Sprintf("replica %d is being updated", replica), func(set *grove.PodCliqueSet) bool {
			progress := set.Status.UpdateProgress
			return progress != nil && progress.UpdateEndedAt == nil && len(progress.CurrentlyUpdating) == 1 &&
				progress.CurrentlyUpdating[0].ReplicaIndex == replica
		}),
	)
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

// updateWithoutRoom changes a set so that its new pods need more than the node has left.
func updateWithoutRoom(w *world) *features.FeatureBuilder {
	all := map[string]int{"llm-0-router": 3}
	return features.New("update without room").
		Setup(w.create).
		Assess("a set runs",
			suite.AllOf(w.applies("three-routers.yaml"), w.runs("engine:1", all),
				w.Guards(suite.PodsOf("llm-0-router", 2)))).
		Assess("there is no room for a pod of the new template, so the other old ones stay",
			suite.AllOf(w.edits("llm", larger("engine:2", 3)), w.isStopped("nvidia.com/gpu"))).
		Assess("also after a crash of the operator",
			suite.AllOf(w.TheOperatorDies, w.isStopped(""), w.Created("engine:2", 1, 1))).
		Assess("the update goes on when there is room",
			suite.AllOf(w.nodeComes(0, 1, 9), w.runs("engine:2", all), w.isReadyAgain("llm", 1))).
		Assess("every pod was replaced once, however long it took", w.Created("engine:2", 3, 3)).
		Assess("and the minimum was never undercut", w.Kept).
		Teardown(w.remove)
}

// updateBeyondItsRack changes a set whose new pods would have room, but not in the rack of the others.
func updateBeyondItsRack(w *world) *features.FeatureBuilder {
	all := map[string]int{"llm-0-worker": 3}
	ended := w.says("llm", "its update is over", func(set *grove.PodCliqueSet) bool {
		progress := set.Status.UpdateProgress
		return progress != nil && progress.UpdateEndedAt != nil
	})
	return features.New("update beyond its rack").
		Setup(w.create).
		Assess("a set runs",
			suite.AllOf(w.applies("one-rack.yaml"), w.runs("engine:1", all),
				w.Guards(suite.PodsOf("llm-0-worker", 2)))).
		Assess("what its rack does not hold goes no further than one pod",
			suite.AllOf(w.edits("llm", larger("engine:2", 5)), w.isStopped("topology.packtree.dev/rack"))).
		Assess("also after a crash of the operator, with room in another rack", suite.AllOf(
			w.nodeComes(1, 7, 20), w.TheOperatorDies, w.isStopped("topology.packtree.dev/rack"))).
		Assess("a change that is taken back costs no more than that pod", suite.AllOf(
			w.edits("llm", larger("engine:1", 2)), ended, w.runs("engine:1", all), w.Created("engine:2", 1, 1),
			w.Created("engine:1", 4, 4))).
		Assess("made again, it stops again",
			suite.AllOf(w.edits("llm", larger("engine:3", 5)), w.isStopped("topology.packtree.dev/rack"))).
		Assess("and goes on when the rack has room, although the operator was killed meanwhile", suite.AllOf(
			w.nodeComes(0, 7, 20), w.TheOperatorDies, w.runs("engine:3", all), w.isReadyAgain("llm", 1), ended)).
		Assess("every pod was replaced once", suite.AllOf(w.Created("engine:2", 1, 1), w.Created("engine:3", 3, 3))).
		Assess("and the minimum was never undercut", w.Kept).
		Teardown(w.remove)
}

// isStopped waits until the set says that its new pod has no room, and why, while two old ones are ready.
func (w *world) isStopped(why string) types.StepFunc {
	return suite.AllOf(
		w.says("llm", "its update is stopped for want of room: "+why, func(set *grove.PodCliqueSet) bool {
			updating := meta.FindStatusCondition(set.Status.Conditions, grove.ConditionUpdating)
			return updating != nil && updating.Reason == grove.ReasonUpdateStopped &&
				updating.ObservedGeneration == set.Generation &&
				strings.Contains(updating.Message, "some of them stand on no node yet: ") &&
				strings.Contains(updating.Message, why)
		}),
		w.has(map[string]int{"engine:1": 2, "not ready": 1}),
	)
}

// updateOnDelete changes a set whose pods only the user replaces.
func updateOnDelete(w *world) *features.FeatureBuilder {
	const pods = 9
	all := map[string]int{"llm-0-router": 3, "llm-0-g-0-leader": 1, "llm-0-g-0-worker": 2, "llm-0-g-1-leader": 1,
		"llm-0-g-1-worker": 2}
	oldRouter := func(pod *corev1.Pod) bool {
		return pod.Labels["grove.io/podclique"] == "llm-0-router" && suite.Image(pod) == "engine:1"
	}
	behind := func(pod *corev1.Pod) bool { return suite.Image(pod) != "engine:3" }
	changed := w.says("llm", "it has seen the change", func(set *grove.PodCliqueSet) bool {
		return set.Status.UpdateProgress != nil && set.Status.UpdateProgress.UpdateEndedAt == nil &&
			set.Status.UpdatedReplicas == 0
	})
	return features.New("update on delete").
		Setup(w.create).
		Assess("a set runs", suite.AllOf(w.applies("on-delete.yaml"), w.runs("engine:1", all),
			w.isReadyAgain("llm", 1))).
		Assess("a pod that the user deletes comes back with the new template", suite.AllOf(
			w.edits("llm", template("engine:2", false)), w.isFollowed("llm-0-router", "engine:2"),
			w.WhileTheOperatorIsDead(w.deletes(1, oldRouter)),
			w.has(map[string]int{"engine:1": 8, "engine:2": 1}), changed)).
		Assess("and the next one with a newer one", suite.AllOf(
			w.edits("llm", template("engine:3", false)), w.isFollowed("llm-0-router", "engine:3"),
			w.WhileTheOperatorIsDead(w.deletes(1, oldRouter)),
			w.has(map[string]int{"engine:1": 7, "engine:2": 1, "engine:3": 1}), changed)).
		Assess("nobody else has replaced any",
			suite.AllOf(w.TheOperatorDies, changed, w.Created("engine:2", 1, 1), w.Created("engine:3", 1, 1))).
		Assess("the update has ended when the user has deleted all", suite.AllOf(
			w.WhileTheOperatorIsDead(w.deletes(pods, behind)), w.runs("engine:3", all), w.isReadyAgain("llm", 1))).
		Assess("each once", suite.AllOf(w.Created("engine:1", pods, pods), w.Created("engine:3", pods, pods))).
		Teardown(w.remove)
}

// isFollowed waits until a PodClique has an image, and the operator has seen that: a pod that is lost before comes back
// as it was.
func (w *world) isFollowed(podClique, image string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, podClique+" is of "+image, func(ctx context.Context) (bool, string, error) {
			object := &grove.PodClique{}
			err := cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: podClique}, object)
			if err != nil {
				return false, "", err
			}
			now, seen := object.Spec.PodSpec.Containers[0].Image, object.Status.ObservedGeneration == object.Generation
			return now == image && seen, fmt.Sprintf("of %s, seen %v", now, seen), nil
		})
		return ctx
	}
}

// has waits until there are so many ready pods of each image, and no others.
func (w *world) has(images map[string]int) types.StepFunc {
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

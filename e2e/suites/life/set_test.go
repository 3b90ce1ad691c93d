package life_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// runs waits until the world has so many pods of each PodClique and no others, all ready, of one image and none being
// deleted.
func (w *setWorld) runs(wanted string, podCliques map[string]int) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("the pods are %v, ready and of %s", podCliques, wanted),
			func(ctx context.Context) (bool, string, error) {
				pods, err := w.Pods(ctx)
				if err != nil {
					return false, "", err
				}
				found := map[string]int{}
				for i := range pods {
					pod := &pods[i]
					if pod.DeletionTimestamp != nil || !suite.IsReady(pod) || suite.Image(pod) != wanted {
						return false, fmt.Sprintf("pod %s of %s: ready %v, deleted %v", pod.Name, suite.Image(pod),
							suite.IsReady(pod), pod.DeletionTimestamp), nil
					}
					found[pod.Labels["grove.io/podclique"]]++
				}
				return maps.Equal(found, podCliques), fmt.Sprint(found), nil
			})
		return ctx
	}
}

// says waits until the status of a set is as wanted.
func (w *setWorld) says(name, what string, look func(*grove.PodCliqueSet) bool) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, name+": "+what, func(ctx context.Context) (bool, string, error) {
			set := &grove.PodCliqueSet{}
			err := cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, set)
			seen := set.Status.ObservedGeneration == set.Generation
			return err == nil && seen && look(set), fmt.Sprintf("generation %d, status %+v", set.Generation,
				set.Status), err
		})
		return ctx
	}
}

// isReadyAgain waits until a set is ready and every update has ended.
func (w *setWorld) isReadyAgain(name string, replicas int32) e2e.StepFunc {
	return w.says(name, fmt.Sprintf("ready with %d replicas, all updated", replicas), func(
		set *grove.PodCliqueSet) bool {
		s, ready := set.Status, false
		for _, condition := range s.Conditions {
			ready = ready || condition.Type == "Ready" && condition.Status == metav1.ConditionTrue
		}
		updating := s.UpdateProgress != nil && s.UpdateProgress.UpdateEndedAt == nil
		return ready && !updating && s.Replicas == replicas && s.AvailableReplicas == replicas &&
			s.UpdatedReplicas == replicas && len(s.LastErrors) == 0
	})
}

// strictly reads an object into its type and reports unknown fields.
func strictly(object *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true)
}

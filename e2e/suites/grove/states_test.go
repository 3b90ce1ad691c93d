package grove_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	grove "packtree.dev/shared/api/grove/v1alpha1"
)

const partOf = "app.kubernetes.io/part-of"

// runs waits until the pods of the world are so many of each PodClique and no others, all ready, of one image and none on its way out.
func (w *world) runs(wanted string, podCliques map[string]int) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.until(ctx, t, fmt.Sprintf("the pods are %v, ready and of %s", podCliques, wanted), func(ctx context.Context) (bool, string, error) {
			pods, err := w.pods(ctx)
			if err != nil {
				return false, "", err
			}
			found := map[string]int{}
			for i := range pods {
				pod := &pods[i]
				if pod.DeletionTimestamp != nil || !isReady(pod) || image(pod) != wanted {
					return false, fmt.Sprintf("pod %s of %s: ready %v, deleted %v", pod.Name, image(pod), isReady(pod), pod.DeletionTimestamp), nil
				}
				found[pod.Labels["grove.io/podclique"]]++
			}
			return maps.Equal(found, podCliques), fmt.Sprint(found), nil
		})
		return ctx
	}
}

// says waits until the status of a set is as it is to be.
func (w *world) says(name, what string, look func(*grove.PodCliqueSet) bool) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.until(ctx, t, name+": "+what, func(ctx context.Context) (bool, string, error) {
			set := &grove.PodCliqueSet{}
			err := cluster.Get(ctx, client.ObjectKey{Namespace: w.name, Name: name}, set)
			seen := set.Status.ObservedGeneration == set.Generation
			return err == nil && seen && look(set), fmt.Sprintf("generation %d, status %+v", set.Generation, set.Status), err
		})
		return ctx
	}
}

// isReadyAgain waits until a set is ready and every update has ended.
func (w *world) isReadyAgain(name string, replicas int32) e2e.StepFunc {
	return w.says(name, fmt.Sprintf("ready with %d replicas, all updated", replicas), func(set *grove.PodCliqueSet) bool {
		s, ready := set.Status, false
		for _, condition := range s.Conditions {
			ready = ready || condition.Type == "Ready" && condition.Status == metav1.ConditionTrue
		}
		updating := s.UpdateProgress != nil && s.UpdateProgress.UpdateEndedAt == nil
		return ready && !updating && s.Replicas == replicas && s.AvailableReplicas == replicas && s.UpdatedReplicas == replicas && len(s.LastErrors) == 0
	})
}

// made are the kinds of which objects are made for a set.
var made = []schema.GroupVersionKind{
	{Group: "grove.io", Version: "v1alpha1", Kind: "PodClique"}, {Group: "grove.io", Version: "v1alpha1", Kind: "PodCliqueScalingGroup"},
	{Group: "scheduler.grove.io", Version: "v1alpha1", Kind: "PodGang"}, {Group: "scheduling.run.ai", Version: "v2alpha2", Kind: "PodGroup"},
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}

// objects are the UIDs of all that was made for a set, by kind and name.
func (w *world) objects(ctx context.Context, set string) (map[string]types.UID, error) {
	found := map[string]types.UID{}
	for _, kind := range made {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := cluster.List(ctx, list, client.InNamespace(w.name)); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			if object.Labels[partOf] == set || strings.HasPrefix(object.Name, set+"-") {
				found[kind.Kind+" "+object.Name] = object.UID
			}
		}
	}
	return found, nil
}

// memory is what a scenario remembers of a set.
type memory map[string]types.UID

// remembers notes all that was made for a set.
func (w *world) remembers(set string, into *memory) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		objects, err := w.objects(ctx, set)
		w.must(ctx, t, err)
		if len(objects) == 0 {
			t.Fatalf("nothing belongs to %s", set)
		}
		*into = objects
		return ctx
	}
}

// isAsIn waits until what was made for a set is exactly what is remembered, down to the last UID.
func (w *world) isAsIn(remembered *memory, set string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.until(ctx, t, set+" has the objects that it had", func(ctx context.Context) (bool, string, error) {
			objects, err := w.objects(ctx, set)
			return maps.Equal(objects, *remembered), difference(*remembered, objects), err
		})
		return ctx
	}
}

// isGone waits until nothing is left of sets.
func (w *world) isGone(sets ...string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for _, set := range sets {
			w.until(ctx, t, "nothing is left of "+set, func(ctx context.Context) (bool, string, error) {
				objects, err := w.objects(ctx, set)
				if err != nil {
					return false, "", err
				}
				err = cluster.Get(ctx, client.ObjectKey{Namespace: w.name, Name: set}, &grove.PodCliqueSet{})
				return len(objects) == 0 && apierrors.IsNotFound(err), fmt.Sprintf("the set: %v, objects: %v", err, objects), nil
			})
		}
		return ctx
	}
}

func difference(before, after map[string]types.UID) string {
	var lines []string
	for name, uid := range before {
		switch now, exists := after[name]; {
		case !exists:
			lines = append(lines, name+" is gone")
		case now != uid:
			lines = append(lines, name+" is another one")
		}
	}
	for name := range after {
		if _, existed := before[name]; !existed {
			lines = append(lines, name+" is new")
		}
	}
	return strings.Join(lines, ", ")
}

// deletes does to pods what a user does with kubectl: to those that are chosen, and not to more than a number of them.
func (w *world) deletes(most int, chosen func(*corev1.Pod) bool) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pods, err := w.pods(ctx)
		w.must(ctx, t, err)
		deleted := 0
		for i := range pods {
			if deleted < most && pods[i].DeletionTimestamp == nil && chosen(&pods[i]) {
				w.must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, &pods[i])))
				deleted++
			}
		}
		if deleted == 0 {
			t.Fatalf("there is no pod to delete\n%s", w.report(ctx))
		}
		return ctx
	}
}

// strictly reads an object into its type and minds unknown fields.
func strictly(object *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true)
}

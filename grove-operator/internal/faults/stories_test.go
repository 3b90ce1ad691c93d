package faults

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// story is a sequence of steps in the life of a set.
type story struct {
	name, manifest string
	steps          []step
}

// step is an action on a set. It has ended when the set is ready and its update over.
type step struct {
	name string
	do   func(ctx context.Context, w *world) error
	// stops is a part of the snapshot at which the step ends if the set cannot become ready.
	stops string
}

// delay is how long a minimum is missed before the unit is recreated: longer than the operator's cache may lag behind
// on a busy machine, or a recovered unit may be recreated once more.
const delay = "6s"

// ill is the image of containers that never become ready.
const ill = "example.com/x:ill"

var stories = []story{
	{"scaling", `
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s}
spec:
  replicas: 1
  template:
    podCliqueScalingGroups:
      - {name: g, cliqueNames: [worker], replicas: 2, minAvailable: 1}
    cliques:
      - {name: front, spec: {replicas: 1, autoScalingConfig: {minReplicas: 1, maxReplicas: 3}}}
      - {name: worker, spec: {replicas: 1}}
`, []step{
		{name: "created", do: create},
		{name: "a group scaled in, a clique out", do: all(scale(group, 1), scale(front, 2))},
		{name: "a group scaled out, a clique to zero", do: all(scale(group, 3), scale(front, 0))},
		{name: "another replica", do: scale(set, 2)},
		{name: "a clique scaled back, a group to zero", do: all(scale(group, 0), scale(front, 1))},
		{name: "scaled to zero", do: scale(set, 0)},
		{name: "scaled back", do: scale(set, 1)},
		{name: "deleted", do: remove},
	}},
	{"rolling", `
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s}
spec:
  replicas: 2
  template:
    podCliqueScalingGroups:
      - {name: g, cliqueNames: [worker], replicas: 2, minAvailable: 1}
    cliques:
      - {name: front, spec: {replicas: 2, minAvailable: 1, podSpec: {containers: [{name: main, image: "example.com/x:1"}]}}}
      - {name: worker, spec: {replicas: 1, podSpec: {containers: [{name: main, image: "example.com/x:1"}]}}}
`, []step{
		{name: "created", do: create},
		{name: "edited, and no new pod becomes ready", do: edit(ill),
			stops: "PodClique s-0-front has 1 of 2 ready pods"},
		{name: "scaled out half-way", do: scale(group, 3), stops: `"name": "s-0-g-2-worker"`},
		{name: "edited half-way", do: edit("example.com/x:3")},
		{name: "deleted", do: remove},
	}},
	{"deleting", `
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s}
spec:
  replicas: 1
  updateStrategy: {type: OnDelete}
  template:
    podCliqueScalingGroups:
      - {name: g, cliqueNames: [worker], replicas: 2, minAvailable: 1}
    cliques:
      - {name: front, spec: {replicas: 2, minAvailable: 1, podSpec: {containers: [{name: main, image: "example.com/x:1"}]}}}
      - {name: worker, spec: {replicas: 1, podSpec: {containers: [{name: main, image: "example.com/x:1"}]}}}
`, []step{
		{name: "created", do: create},
		{name: "edited", do: edit("example.com/x:2"), stops: "example.com/x:2"},
		{name: "a pod deleted", do: deletePods("s-0-front", "0"), stops: "s-0-front#0 (2)"},
		{name: "edited half-way", do: edit("example.com/x:3"), stops: "example.com/x:3"},
		{name: "the other pods deleted",
			do: all(deletePods("s-0-front", ""), deletePods("s-0-g-0-worker", ""), deletePods("s-0-g-1-worker", ""))},
		{name: "edited once more", do: edit("example.com/x:4"), stops: "example.com/x:4"},
		{name: "deleted half-way", do: remove},
	}},
	{"terminating", `
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s}
spec:
  replicas: 1
  template:
    podCliqueScalingGroups:
      - {name: g, cliqueNames: [worker], replicas: 2, minAvailable: 1}
    cliques:
      - {name: front, spec: {replicas: 1}}
      - {name: worker, spec: {replicas: 1}}
`, []step{
		{name: "created", do: all(create, scale(group, 3))},
		{name: "a copy stays broken", do: all(terminateAfter(delay), harm("s-0-g-1-worker"))},
		{name: "all stays broken", do: harm("s-0-front")},
		{name: "termination is switched off", do: all(terminateAfter("0s"), harm("s-0-front")),
			stops: grovev1alpha1.ReasonInsufficientReadyPods},
		{name: "deleted", do: remove},
	}},
}

type doing = func(context.Context, *world) error

// all runs several actions one after the other.
func all(things ...doing) doing {
	return func(ctx context.Context, w *world) error {
		for _, do := range things {
			if err := do(ctx, w); err != nil {
				return err
			}
		}
		return nil
	}
}

func create(ctx context.Context, w *world) error {
	return w.Create(ctx, w.set.DeepCopy())
}

func remove(ctx context.Context, w *world) error {
	return w.Delete(ctx, set(w))
}

// set, group and front are the objects of stories.
func set(w *world) client.Object {
	return &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s"}}
}

func group(w *world) client.Object {
	return &grovev1alpha1.PodCliqueScalingGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s-0-g"}}
}

func front(w *world) client.Object {
	return &grovev1alpha1.PodClique{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s-0-front"}}
}

// scale scales an object that may not exist yet.
func scale(object func(*world) client.Object, replicas int) doing {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func() error {
			return w.Patch(ctx, object(w),
				client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)))
		})
	}
}

// edit gives both cliques another image.
func edit(image string) doing {
	return func(ctx context.Context, w *world) error {
		const path = "/spec/template/cliques/%d/spec/podSpec/containers/0/image"
		return w.Patch(ctx, set(w), client.RawPatch(types.JSONPatchType, fmt.Appendf(nil,
			`[{"op":"replace","path":"`+path+`","value":%q},{"op":"replace","path":"`+path+`","value":%q}]`, 0, image,
			1,
			image)))
	}
}

func terminateAfter(delay string) doing {
	return func(ctx context.Context, w *world) error {
		return w.Patch(ctx, set(w),
			client.RawPatch(types.MergePatchType,
				fmt.Appendf(nil, `{"spec":{"template":{"terminationDelay":%q}}}`, delay)))
	}
}

// deletePods deletes pods of a PodClique as a user does: the one with that index, or all if it is empty.
func deletePods(podClique, index string) doing {
	return func(ctx context.Context, w *world) error {
		pods, err := w.podsOf(ctx, podClique)
		for i := range pods {
			if index == "" || pods[i].Labels[grovev1alpha1.LabelPodIndex] == index {
				err = errors.Join(err, w.Delete(ctx, &pods[i]))
			}
		}
		return err
	}
}

// harm makes the pods of a PodClique not ready for ever.
func harm(podClique string) doing {
	return func(ctx context.Context, w *world) error {
		pods, err := w.podsOf(ctx, podClique)
		for i := range pods {
			before := pods[i].DeepCopy()
			pods[i].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			err = errors.Join(err, w.Status().Patch(ctx, &pods[i], client.MergeFrom(before)))
		}
		return err
	}
}

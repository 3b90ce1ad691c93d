package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

const manifest = `
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
`

// life is what happens to a set, one step after the other.
var life = []struct {
	name string
	do   func(context.Context, client.Client, *grovev1alpha1.PodCliqueSet) error
}{
	{"created", func(ctx context.Context, c client.Client, set *grovev1alpha1.PodCliqueSet) error {
		return c.Create(ctx, set)
	}},
	{"scaled out and in", func(ctx context.Context, c client.Client, set *grovev1alpha1.PodCliqueSet) error {
		group, front := &grovev1alpha1.PodCliqueScalingGroup{}, &grovev1alpha1.PodClique{}
		group.Name, front.Name = "s-0-g", "s-0-front"
		return errors.Join(scale(ctx, c, set.Namespace, group, 1), scale(ctx, c, set.Namespace, front, 2))
	}},
	{"scaled to zero", func(ctx context.Context, c client.Client, set *grovev1alpha1.PodCliqueSet) error {
		return scale(ctx, c, set.Namespace, &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Name: set.Name}}, 0)
	}},
	{"scaled back", func(ctx context.Context, c client.Client, set *grovev1alpha1.PodCliqueSet) error {
		return scale(ctx, c, set.Namespace, &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Name: set.Name}}, 1)
	}},
	{"deleted", func(ctx context.Context, c client.Client, set *grovev1alpha1.PodCliqueSet) error {
		return c.Delete(ctx, set)
	}},
}

func scale(ctx context.Context, c client.Client, namespace string, object client.Object, replicas int) error {
	object.SetNamespace(namespace)
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)))
}

// world is one namespace, in which scheduler and kubelet are played.
type world struct {
	client.Client
	namespace string
}

// play binds pods without gates, makes those that are bound ready, and lets those go that are being deleted.
func (w world) play(ctx context.Context) error {
	var list corev1.PodList
	if err := w.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		errs = append(errs, client.IgnoreNotFound(w.advance(ctx, &list.Items[i])))
	}
	return errors.Join(errs...)
}

func (w world) advance(ctx context.Context, pod *corev1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return w.Delete(ctx, pod, client.GracePeriodSeconds(0))
	case len(pod.Spec.SchedulingGates) > 0:
		return nil
	case pod.Spec.NodeName == "":
		return w.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}})
	case pod.Status.Phase != corev1.PodRunning:
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		return w.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
	return nil
}

const (
	// look is how often a world is looked at.
	look = 200 * time.Millisecond
	// patience bounds a step; it is long, for the machine may be busy.
	patience = 3 * time.Minute
)

// until plays until a look at the world satisfies, and returns the last look.
func (w world) until(ctx context.Context, satisfied func(now string) bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var now string
	for {
		err := w.play(ctx)
		if err == nil {
			if now, err = snapshot(ctx, w, w.namespace); err == nil && satisfied(now) {
				return now, nil
			}
		}
		select {
		case <-ctx.Done():
			return now, errors.Join(fmt.Errorf("the world does not come to its end: %w", context.Cause(ctx)), err)
		case <-time.After(look):
		}
	}
}

// atRest plays until nothing has changed for as long as several passes of the operator take.
func (w world) atRest(ctx context.Context) (string, error) {
	const looks = 15
	var before string
	alike := 0
	return w.until(ctx, func(now string) bool {
		if now != before || !w.asWanted(ctx) {
			before, alike = now, 0
		}
		alike++
		return alike > looks
	})
}

// asWanted tells whether the set says that all of it is there, or is gone.
func (w world) asWanted(ctx context.Context) bool {
	var list grovev1alpha1.PodCliqueSetList
	if err := w.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return false
	}
	for i := range list.Items {
		if !meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, grovev1alpha1.ConditionReady) {
			return false
		}
	}
	return true
}

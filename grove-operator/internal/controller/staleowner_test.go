package controller_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/podcliqueset"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// TestAStaleCacheLetsNoSetGoBeforeItsChildren: the pass before the deletion made children that the cache does not show
// yet. Orphaned ones would never be deleted.
func TestAStaleCacheLetsNoSetGoBeforeItsChildren(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s, finalizers: [grove.io/podcliqueset.grove.io]}
spec:
  replicas: 1
  template: {cliques: [{name: a}, {name: b}], podCliqueScalingGroups: [{name: g, cliqueNames: [b]}]}
`)
	set.DeletionTimestamp = &metav1.Time{Time: now}
	podClique := children.PodClique(set, layout.Standalone(set, 0)[0], nil)
	group := children.ScalingGroup(set, 0, &set.Spec.Template.PodCliqueScalingGroups[0])
	for name, c := range map[string]struct {
		live     []client.Object
		deleted  []string
		released bool
	}{
		"what has no children is let go": {released: true},
		"a PodClique that is not cached yet is deleted": {live: []client.Object{podClique},
			deleted: []string{podClique.Name}},
		"a scaling group that is not cached yet is deleted too": {live: []client.Object{group},
			deleted: []string{group.Name}},
	} {
		t.Run(name, func(t *testing.T) {
			var deleted []string
			cached := cacheOf(set.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ client.WithWatch, object client.Object,
					_ ...client.DeleteOption) error {
					deleted = append(deleted, object.GetName())
					return nil
				},
				SubResourceApply: forgetsStatus,
			}).Build()
			reconciler := &podcliqueset.Reconciler{
				Client: cached, Clock: testingclock.NewFakePassiveClock(now),
				Writer: controller.Writer(cached,
					fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(c.live...).Build()),
			}
			if _, err := reconciler.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(set)}); err != nil {
				t.Fatal(err)
			}
			err := cached.Get(t.Context(), client.ObjectKeyFromObject(set), &grovev1alpha1.PodCliqueSet{})
			if released := apierrors.IsNotFound(err); released != c.released || client.IgnoreNotFound(err) != nil {
				t.Errorf("released: %v (%v), want %v", released, err, c.released)
			}
			if diff := cmp.Diff(c.deleted, deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
		})
	}
}

// cacheOf is a client that reads as the operator's cache does.
func cacheOf(objects ...client.Object) *fake.ClientBuilder {
	cache := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(objects...)
	for _, kind := range []client.Object{
		&corev1.Service{}, &autoscalingv2.HorizontalPodAutoscaler{}, &grovev1alpha1.PodCliqueScalingGroup{},
		&grovev1alpha1.PodClique{}, &schedulerv1alpha1.PodGang{},
	} {
		cache.WithIndex(kind, "packtree.dev/set", func(object client.Object) []string {
			return []string{object.GetLabels()[grovev1alpha1.LabelPartOf]}
		})
	}
	return cache
}

// forgetsStatus is for tests in which the status does not matter.
func forgetsStatus(
	context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption,
) error {
	return nil
}

package controller_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	"packtree.dev/grove-operator/internal/controller/podcliquescalinggroup"
	"packtree.dev/grove-operator/internal/controller/podcliqueset"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// TestAStaleCacheLetsNoOwnerGoBeforeItsChildren: the pass before the deletion made children that the cache does not show
// yet. Orphaned ones would never be deleted.
func TestAStaleCacheLetsNoOwnerGoBeforeItsChildren(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s, finalizers: [grove.io/podcliqueset.grove.io]}
spec:
  replicas: 1
  template: {cliques: [{name: a}, {name: b}], podCliqueScalingGroups: [{name: g, cliqueNames: [b]}]}
`)
	config := &set.Spec.Template.PodCliqueScalingGroups[0]
	group := children.ScalingGroup(set, 0, config)
	group.UID = "group"
	before := group.DeepCopy()
	before.UID = "before"
	podClique := children.PodClique(set, layout.Standalone(set, 0)[0], nil)
	inCopy := children.PodClique(set, layout.Copy(set, 0, config, 0)[0], group)
	goingSet, goingGroup := set.DeepCopy(), group.DeepCopy()
	goingSet.DeletionTimestamp, goingGroup.DeletionTimestamp = &metav1.Time{Time: now}, &metav1.Time{Time: now}
	for name, c := range map[string]struct {
		going    client.Object
		live     []client.Object
		deleted  []string
		released bool
	}{
		"a set without children is let go": {going: goingSet, released: true},
		"a PodClique that is not cached yet is deleted": {going: goingSet, live: []client.Object{podClique},
			deleted: []string{podClique.Name}},
		"a scaling group that is not cached yet is deleted too": {going: goingSet, live: []client.Object{group},
			deleted: []string{group.Name}},
		"a group without PodCliques is let go": {going: goingGroup, released: true},
		"one of a group that is not cached is deleted": {going: goingGroup, live: []client.Object{inCopy},
			deleted: []string{inCopy.Name}},
		"that of a group before is no matter": {going: goingGroup, released: true,
			live: []client.Object{children.PodClique(set, layout.Copy(set, 0, config, 0)[0], before)}},
	} {
		t.Run(name, func(t *testing.T) {
			var deleted []string
			seen := []client.Object{c.going.DeepCopyObject().(client.Object)}
			if c.going == client.Object(goingGroup) {
				seen = append(seen, set.DeepCopy())
			}
			cached := cacheOf(seen...).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ client.WithWatch, object client.Object,
					_ ...client.DeleteOption) error {
					deleted = append(deleted, object.GetName())
					return nil
				},
				SubResourceApply: forgetsStatus,
			}).Build()
			writer := controller.Writer(cached,
				fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(c.live...).Build())
			clock := testingclock.NewFakePassiveClock(now)
			var reconciler reconcile.Reconciler = &podcliqueset.Reconciler{Client: cached, Clock: clock, Writer: writer}
			if c.going == client.Object(goingGroup) {
				reconciler = &podcliquescalinggroup.Reconciler{Client: cached, Clock: clock, Writer: writer}
			}
			key := client.ObjectKeyFromObject(c.going)
			if _, err := reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			err := cached.Get(t.Context(), key, seen[0])
			released := apierrors.IsNotFound(err)
			assert.Equal(t, c.released, released, "released: %v (%v)", released, err)
			require.NoError(t, client.IgnoreNotFound(err))
			assert.Empty(t, cmp.Diff(c.deleted, deleted), "deleted (-want +got)")
		})
	}
}

// cacheOf is a client that reads as the operator's cache does.
func cacheOf(objects ...client.Object) *fake.ClientBuilder {
	labelled := func(label string) client.IndexerFunc {
		return func(object client.Object) []string { return []string{object.GetLabels()[label]} }
	}
	cache := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(objects...).
		WithIndex(&corev1.Pod{}, "packtree.dev/podclique", labelled(grovev1alpha1.LabelPodClique)).
		WithIndex(&grovev1alpha1.PodClique{}, "packtree.dev/scaling-group",
			labelled(grovev1alpha1.LabelPodCliqueScalingGroup))
	for _, kind := range []client.Object{
		&corev1.Service{}, &autoscalingv2.HorizontalPodAutoscaler{}, &grovev1alpha1.PodCliqueScalingGroup{},
		&grovev1alpha1.PodClique{}, &schedulerv1alpha1.PodGang{}, &corev1.Pod{},
	} {
		cache.WithIndex(kind, "packtree.dev/set", labelled(grovev1alpha1.LabelPartOf))
	}
	return cache
}

// forgetsStatus is for tests in which the status does not matter, countsStatuses for those in which it is written or not.
var forgetsStatus = countsStatuses(new(int))

func countsStatuses(statuses *int) func(
	context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption,
) error {
	return func(context.Context, client.Client, string, runtime.ApplyConfiguration,
		...client.SubResourceApplyOption) error {
		*statuses++
		return nil
	}
}

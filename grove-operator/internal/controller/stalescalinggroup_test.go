package controller_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/podcliquescalinggroup"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// TestAStaleCacheLetsNoGroupGoBeforeItsPodCliques: the pass before the deletion made PodCliques that the cache does not
// show yet. Orphaned ones would never be deleted.
func TestAStaleCacheLetsNoGroupGoBeforeItsPodCliques(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s}
spec: {replicas: 1, template: {cliques: [{name: b}], podCliqueScalingGroups: [{name: g, cliqueNames: [b]}]}}
`)
	config := &set.Spec.Template.PodCliqueScalingGroups[0]
	group := children.ScalingGroup(set, 0, config)
	group.UID, group.DeletionTimestamp = "group", &metav1.Time{Time: now}
	podClique := children.PodClique(set, layout.Copy(set, 0, config, 0)[0], group)
	before := group.DeepCopy()
	before.UID = "before"
	for name, c := range map[string]struct {
		live     []client.Object
		deleted  []string
		released bool
	}{
		"what has no PodCliques is let go":  {released: true},
		"one that is not cached is deleted": {live: []client.Object{podClique}, deleted: []string{podClique.Name}},
		"that of a group before is no matter": {
			live: []client.Object{children.PodClique(set, layout.Copy(set, 0, config, 0)[0], before)}, released: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var deleted []string
			cached := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(set, group.DeepCopy()).
				WithIndex(&grovev1alpha1.PodClique{}, "packtree.dev/scaling-group", func(
					object client.Object) []string {
					return []string{object.GetLabels()[grovev1alpha1.LabelPodCliqueScalingGroup]}
				}).
				WithInterceptorFuncs(interceptor.Funcs{
					Delete: func(_ context.Context, _ client.WithWatch, object client.Object,
						_ ...client.DeleteOption) error {
						deleted = append(deleted, object.GetName())
						return nil
					},
					SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration,
						...client.SubResourceApplyOption) error {
						return nil // The status does not matter here.
					},
				}).Build()
			reconciler := &podcliquescalinggroup.Reconciler{
				Client: cached, Clock: testingclock.NewFakePassiveClock(now),
				Writer: controller.Writer(cached,
					fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(c.live...).Build()),
			}
			if _, err := reconciler.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(group)}); err != nil {
				t.Fatal(err)
			}
			err := cached.Get(t.Context(), client.ObjectKeyFromObject(group), &grovev1alpha1.PodCliqueScalingGroup{})
			if released := apierrors.IsNotFound(err); released != c.released || client.IgnoreNotFound(err) != nil {
				t.Errorf("released: %v (%v), want %v", released, err, c.released)
			}
			if diff := cmp.Diff(c.deleted, deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
		})
	}
}

package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/podcliquescalinggroup"
	"packtree.dev/grove-operator/internal/controller/podcliqueset"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// TestAStaleCacheRecreatesNothingThatIsWell: in the cache, a PodClique is below its minimum for longer than the delay.
// What is recorded may be half deleted, which the cache does not show: without the record it gets the template's size.
func TestAStaleCacheRecreatesNothingThatIsWell(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s, generation: 1, finalizers: [grove.io/podcliqueset.grove.io]}
spec:
  replicas: 1
  template:
    terminationDelay: 1s
    cliques:
      - {name: a, spec: {replicas: 1, podSpec: {containers: [{name: main, image: x}]}}}
      - {name: b, spec: {replicas: 1, podSpec: {containers: [{name: main, image: x}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1}]
`)
	group := children.ScalingGroup(set, 0, &set.Spec.Template.PodCliqueScalingGroups[0])
	group.UID = "g"
	alone := layout.Standalone(set, 0)[0]
	inCopy := func(copyIndex int32) layout.Member {
		return layout.Copy(set, 0, &set.Spec.Template.PodCliqueScalingGroups[0], copyIndex)[0]
	}
	// broken is a PodClique that lost its minimum five seconds ago, pod is its pod.
	broken := func(member layout.Member, owner *grovev1alpha1.PodCliqueScalingGroup) *grovev1alpha1.PodClique {
		made := children.PodClique(set, member, owner)
		made.UID = types.UID(member.Name)
		made.Generation, made.Status.ObservedGeneration, made.Status.ReachedMinAvailable = 1, 1, true
		made.Status.Conditions = []metav1.Condition{{
			Type: grovev1alpha1.ConditionMinAvailableBreached, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now.Add(-5 * time.Second)),
		}}
		return made
	}
	pod := func(member layout.Member, owner *grovev1alpha1.PodClique, ready corev1.ConditionStatus) *corev1.Pod {
		made := pods.Maker{Set: set, Member: member, PodClique: owner}.Make(owner.Name+"-0", 0)
		made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		return made
	}
	type subject struct {
		object     client.Object
		podClique  *grovev1alpha1.PodClique
		member     layout.Member
		live       []client.Object
		reconciler func(client.Client, client.Reader) reconcile.Reconciler
	}
	clock := testingclock.NewFakePassiveClock(now)
	other := broken(inCopy(1), group)
	other.UID, other.Status.ReadyReplicas, other.Status.Conditions = "other", 1, nil
	for kind, s := range map[string]subject{
		"replica": {
			object: set, podClique: broken(alone, nil), member: alone, live: []client.Object{group},
			reconciler: func(cached client.Client, live client.Reader) reconcile.Reconciler {
				return &podcliqueset.Reconciler{Client: cached, Clock: clock, Writer: controller.Writer(cached, live)}
			},
		},
		"copy": {
			object: group, podClique: broken(inCopy(0), group), member: inCopy(0),
			live: []client.Object{group, other, pod(inCopy(1), other, corev1.ConditionTrue)},
			reconciler: func(cached client.Client, live client.Reader) reconcile.Reconciler {
				return &podcliquescalinggroup.Reconciler{Client: cached, Clock: clock,
					Writer: controller.Writer(cached, live)}
			},
		},
	} {
		record := &grovev1alpha1.GangTermination{Objects: []grovev1alpha1.TerminatedObject{
			{Kind: "PodClique", Name: s.podClique.Name, UID: s.podClique.UID}}}
		for name, c := range map[string]struct {
			record  *grovev1alpha1.GangTermination
			ready   corev1.ConditionStatus
			going   bool
			unread  bool
			want    bool
			deleted []string
		}{
			"is recorded while it is below its minimum": {ready: corev1.ConditionFalse, want: true},
			"is not recorded if it is well":             {ready: corev1.ConditionTrue},
			"is deleted when that is recorded": {
				record: record, ready: corev1.ConditionFalse, want: true, deleted: []string{s.podClique.Name},
			},
			"is not deleted if it is well again": {record: record, ready: corev1.ConditionTrue},
			"is finished if its deletion has begun": {
				record: record, ready: corev1.ConditionTrue, going: true, want: true,
				deleted: []string{s.podClique.Name},
			},
			"stays recorded if the API server does not answer": {record: record, unread: true, want: true},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				var deleted []string
				recorded := c.record != nil
				object := s.object.DeepCopyObject().(client.Object)
				switch object := object.(type) {
				case *grovev1alpha1.PodCliqueSet:
					object.Status.GangTermination = c.record
				case *grovev1alpha1.PodCliqueScalingGroup:
					object.Status.GangTermination = c.record
				}
				seen := append([]client.Object{object, s.podClique.DeepCopy()}, s.live...)
				if kind == "copy" {
					seen = append([]client.Object{set, object, s.podClique.DeepCopy()}, s.live[1:]...)
				}
				cached := cacheOf(seen...).WithInterceptorFuncs(interceptor.Funcs{
					Delete: func(_ context.Context, _ client.WithWatch, object client.Object,
						_ ...client.DeleteOption) error {
						deleted = append(deleted, object.GetName())
						return nil
					},
					Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration,
						...client.ApplyOption) error {
						return nil
					},
					SubResourceApply: func(_ context.Context, _ client.Client, _ string,
						status runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
						content, err := json.Marshal(status)
						var written struct {
							Status struct {
								GangTermination *grovev1alpha1.GangTermination
							}
						}
						recorded = json.Unmarshal(content, &written) == nil && written.Status.GangTermination != nil
						return err
					},
				}).Build()
				podClique := s.podClique.DeepCopy()
				if c.going {
					podClique.DeletionTimestamp, podClique.Finalizers = &metav1.Time{Time: now}, []string{"x/y"}
				}
				live := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(
					append([]client.Object{podClique, pod(s.member, podClique, c.ready)}, s.live...)...).
					WithInterceptorFuncs(interceptor.Funcs{
						List: func(ctx context.Context, read client.WithWatch, list client.ObjectList,
							options ...client.ListOption) error {
							if c.unread {
								return apierrors.NewInternalError(errors.New("no answer"))
							}
							return read.List(ctx, list, options...)
						},
					}).Build()
				_, err := s.reconciler(cached, live).Reconcile(t.Context(),
					reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s.object)})
				require.Equal(t, c.unread, err != nil, err)
				assert.Empty(t, cmp.Diff([]any{c.want, c.deleted}, []any{recorded, deleted}),
					"recorded, deleted (-want +got)")
			})
		}
	}
}

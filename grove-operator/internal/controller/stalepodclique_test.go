package controller_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/podclique"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// TestAStaleCacheHasNoPodTooManyDeleted: a scale-in from four to three has deleted pod 3. The cache does not show that
// yet, but shows that pod 1 is no longer ready, which by itself would make it the next to delete.
func TestAStaleCacheHasNoPodTooManyDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		cached, live []string
		want         []string
	}{
		"what is too many goes": {cached: []string{"0", "1", "2", "3"},
			live: []string{"0", "1", "2", "3"}, want: []string{"3"}},
		"what has gone already is not made good": {cached: []string{"0", "1!", "2", "3"},
			live: []string{"0", "1!", "2"}},
		"what goes already is not made good": {cached: []string{"0", "1!", "2", "3"},
			live: []string{"0", "1!", "2", "3-"}},
		"what the cache does not show as unready goes": {cached: []string{"0", "1", "2", "3"},
			live: []string{"0", "1!", "2", "3"}, want: []string{"1"}},
		"what became ready again stays": {cached: []string{"0", "1!", "2", "3"},
			live: []string{"0", "1", "2", "3"}, want: []string{"3"}},
		"of two that are too many, one has gone before": {cached: []string{"0", "1!", "2", "3", "4"},
			live: []string{"0", "1!", "2", "3"}, want: []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			world := stale(t, c.cached, c.live, func(*grovev1alpha1.PodClique) {})
			_, err := world.reconciler.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: world.key})
			require.NoError(t, err)
			slices.Sort(world.deleted)
			assert.Empty(t, cmp.Diff(c.want, world.deleted), "deleted (-want +got)")
		})
	}
}

// TestAStaleCacheLetsNoPodCliqueGoBeforeItsPods: the pass before the deletion made pod 0, which the cache does not show
// yet. An orphaned pod would never be deleted.
func TestAStaleCacheLetsNoPodCliqueGoBeforeItsPods(t *testing.T) {
	for name, c := range map[string]struct {
		cached, live []string
		deleted      []string
		released     bool
	}{
		"what has no pods is let go":              {released: true},
		"a pod that is not cached yet is deleted": {live: []string{"0"}, deleted: []string{"0"}},
		"one that goes is waited for":             {live: []string{"0-"}},
		"one that is cached is deleted and waited on": {cached: []string{"0"}, live: []string{"0"},
			deleted: []string{"0"}},
	} {
		t.Run(name, func(t *testing.T) {
			world := stale(t, c.cached, c.live, func(owner *grovev1alpha1.PodClique) {
				owner.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_800_000_000, 0)}
			})
			if _, err := world.reconciler.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: world.key}); err != nil {
				t.Fatal(err)
			}
			err := world.reconciler.Client.Get(t.Context(), world.key, &grovev1alpha1.PodClique{})
			released := apierrors.IsNotFound(err)
			assert.Equal(t, c.released, released, "released: %v (%v)", released, err)
			require.NoError(t, client.IgnoreNotFound(err))
			assert.Empty(t, cmp.Diff(c.deleted, world.deleted), "deleted (-want +got)")
		})
	}
}

// TestAPodThatIsNoMemberAnyMoreDoesNotStandInForItsSuccessor: a user took the label off pod 0, or its owner, to look
// at it in peace. Its successor would have its name.
func TestAPodThatIsNoMemberAnyMoreDoesNotStandInForItsSuccessor(t *testing.T) {
	podClique := &grovev1alpha1.PodClique{ObjectMeta: metav1.ObjectMeta{Name: "s-0-a", UID: "owner"}}
	first := pods.FreeName(podClique, 0, "", nil)
	second := pods.FreeName(podClique, 0, "", map[string]bool{first: true})
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		live   []string
		want   []string
	}{
		"without the label": {func(pod *corev1.Pod) { delete(pod.Labels, grovev1alpha1.LabelPodClique) }, []string{"1", "2"},
			[]string{second}},
		"without an owner": {func(pod *corev1.Pod) { pod.OwnerReferences = nil }, []string{"1", "2"}, []string{second}},
		"and its successor is there, which the cache does not show": {
			func(pod *corev1.Pod) { pod.OwnerReferences = nil }, []string{"0", "1", "2"}, nil},
		"a member that the cache does not show": {func(*corev1.Pod) {}, []string{"1", "2"}, nil},
		"a member that is on its way out, which the cache does not show": {func(pod *corev1.Pod) {
			pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: time.Unix(1_800_000_000, 0)}, []string{"example.com/kubelet"}
		}, []string{"1", "2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var made []string
			world := staleWith(t, []string{"1", "2"}, c.live, func(*grovev1alpha1.PodClique) {}, func(maker pods.Maker) []client.Object {
				pod := maker.Make(first, 0)
				c.change(pod)
				return []client.Object{pod}
			}, &made)
			_, err := world.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: world.key})
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(c.want, made), "made (-want +got)")
		})
	}
}

// staleWorld is a PodClique of three pods, and its reconciler, which reads an old list of pods.
type staleWorld struct {
	reconciler *podclique.Reconciler
	key        client.ObjectKey
	deleted    []string
}

func stale(t *testing.T, cached, live []string, change func(*grovev1alpha1.PodClique)) *staleWorld {
	t.Helper()
	return staleWith(t, cached, live, change, func(pods.Maker) []client.Object { return nil }, nil)
}

// staleWith has further pods that the cache does not show, and notes the names of the pods that are made.
func staleWith(
	t *testing.T, cached, live []string, change func(*grovev1alpha1.PodClique), further func(pods.Maker) []client.Object,
	made *[]string,
) *staleWorld {
	t.Helper()
	set := fixture.Set(t,
		"{metadata: {name: s, namespace: n, uid: s}, spec: {replicas: 1, template: {cliques: [{name: a, spec: {replicas: "+
			"3}}]}}}")
	member := layout.Standalone(set, 0)[0]
	owner := children.PodClique(set, member, nil)
	owner.UID = "owner"
	change(owner)
	maker := pods.Maker{Set: set, Member: member, PodClique: owner}
	world := &staleWorld{key: client.ObjectKeyFromObject(owner)}
	var past client.Client
	writes := interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			err := past.Create(ctx, object)
			if err == nil {
				*made = append(*made, object.GetName())
			}
			return err
		},
		Delete: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.DeleteOption) error {
			world.deleted = append(world.deleted, object.GetLabels()[grovev1alpha1.LabelPodIndex])
			return nil
		},
		SubResourceApply: forgetsStatus,
	}
	past = cacheOf(append(madePods(maker, live), further(maker)...)...).Build()
	cache := cacheOf(append(madePods(maker, cached), set, owner)...).WithInterceptorFuncs(writes).Build()
	world.reconciler = &podclique.Reconciler{
		Client: cache, Writer: controller.Writer(cache, past),
		Clock: testingclock.NewFakePassiveClock(time.Unix(1_800_000_000, 0)),
	}
	return world
}

// podsOf are pods by their indexes: those with ! are not ready, those with - are being deleted.
func madePods(maker pods.Maker, words []string) []client.Object {
	var all []client.Object
	for _, word := range words {
		index := int32(word[0] - '0')
		pod := maker.Make(fmt.Sprintf("p%d", index), index)
		pod.Spec.NodeName, pod.Spec.SchedulingGates = "node", nil
		ready := corev1.ConditionTrue
		switch word[1:] {
		case "!":
			ready = corev1.ConditionFalse
		case "-":
			pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_800_000_000, 0)}
			pod.Finalizers = []string{"example.com/kubelet"} // Without it a fake cluster has no leaving pods.
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		all = append(all, pod)
	}
	return all
}

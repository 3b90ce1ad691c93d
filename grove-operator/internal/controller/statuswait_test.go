package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/podclique"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

var epoch = time.Unix(1_800_000_000, 0)

// wave is a PodClique of two pods. It counts the writes of its status. Its API server dates pods by dates, and
// refuses them with refusal.
type wave struct {
	client.Client
	reconciler *podclique.Reconciler
	clock      *testingclock.FakePassiveClock
	key        client.ObjectKey
	dates      time.Time
	refusal    error
	statuses   int
}

func newWave(t *testing.T) *wave {
	t.Helper()
	set := fixture.Set(t, "{metadata: {name: s, namespace: n, uid: s}, spec: {replicas: 1, template: {cliques: "+
		"[{name: a, spec: {replicas: 2}}]}}}")
	owner := children.PodClique(set, layout.Standalone(set, 0)[0], nil)
	owner.UID = "owner"
	w := &wave{clock: testingclock.NewFakePassiveClock(epoch), key: client.ObjectKeyFromObject(owner), dates: epoch}
	w.Client = cacheOf(set, owner).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
			object.SetCreationTimestamp(metav1.NewTime(w.dates))
			return errors.Join(w.refusal, to.Create(ctx, object, options...))
		},
		SubResourceApply: countsStatuses(&w.statuses),
	}).Build()
	w.reconciler = &podclique.Reconciler{
		Client: w.Client, Writer: controller.Writer(w.Client, w.Client), Clock: w.clock,
	}
	return w
}

// pass makes a pass, and returns after which time the next one is due.
func (w *wave) pass(t *testing.T) time.Duration {
	t.Helper()
	result, err := w.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
	if err != nil && w.refusal == nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

// list makes the gang, with the pods that there are.
func (w *wave) list(t *testing.T) {
	t.Helper()
	var pods corev1.PodList
	require.NoError(t, w.List(t.Context(), &pods))
	group := schedulerv1alpha1.PodGroup{Name: w.key.Name}
	for _, pod := range pods.Items {
		group.PodReferences = append(group.PodReferences,
			schedulerv1alpha1.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
	gang := &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "s-0"}}
	gang.Spec.PodGroups = []schedulerv1alpha1.PodGroup{group}
	require.NoError(t, w.Create(t.Context(), gang))
}

func (w *wave) expect(t *testing.T, statuses int, when string) {
	t.Helper()
	assert.Equal(t, w.statuses, statuses, when)
}

func TestNewPodsAreOneStatus(t *testing.T) {
	w := newWave(t)
	next := w.pass(t)
	assert.Greater(t, next, time.Duration(0), "the next pass is due after")
	assert.LessOrEqual(t, next, 2*time.Second, "the next pass is due after")
	w.expect(t, 0, "pods are made")
	w.pass(t)
	w.expect(t, 0, "the pods are seen")
	w.list(t)
	assert.Zero(t, w.pass(t), "another pass is due after")
	w.expect(t, 1, "their gates are removed")
}

func TestAStatusDoesNotWaitForAGangThatDoesNotCome(t *testing.T) {
	w := newWave(t)
	w.clock.SetTime(epoch.Add(w.pass(t)))
	assert.Zero(t, w.pass(t), "another pass is due after")
	w.expect(t, 1, "when it was due")
}

func TestAStatusDoesNotWaitForAClockThatIsAhead(t *testing.T) {
	w := newWave(t)
	w.dates = epoch.Add(time.Hour)
	w.pass(t)
	w.expect(t, 1, "pods of the future are made")
}

func TestAStatusDoesNotWaitIfPodsAreRefused(t *testing.T) {
	w := newWave(t)
	w.refusal = errors.New("exceeded quota")
	w.pass(t)
	w.expect(t, 1, "the second pod is refused")
}

func TestAStatusIsNotWrittenBetweenTheDeletionOfPodsAndTheirEnd(t *testing.T) {
	w := newWave(t)
	w.pass(t)
	owner := &grovev1alpha1.PodClique{}
	require.NoError(t, errors.Join(w.Get(t.Context(), w.key, owner), w.Delete(t.Context(), owner)))
	w.pass(t)
	w.expect(t, 0, "pods are deleted")
	w.pass(t)
	w.expect(t, 0, "they are gone")
	err := w.Get(t.Context(), w.key, owner)
	require.NoError(t, client.IgnoreNotFound(err), "the PodClique is still there")
	assert.Error(t, err, "the PodClique is still there")
}

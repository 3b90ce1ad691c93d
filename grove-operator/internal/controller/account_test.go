package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/podcliqueset"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// TestNoPodIsMadeBeforeItsAccount: an API server that has just got the definition of PodCliqueSets refuses objects
// that one of them owns, and accepts them a moment later, in the middle of a pass. A pod without its account is
// refused.
func TestNoPodIsMadeBeforeItsAccount(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s, finalizers: [grove.io/podcliqueset.grove.io]}
spec: {replicas: 1, template: {cliqueStartupType: CliqueStartupTypeInOrder, cliques: [{name: a}, {name: b}]}}
`)
	own := children.ServiceAccount(set)
	foreign := own.DeepCopy()
	foreign.OwnerReferences = nil
	accounts := schema.GroupResource{Resource: "serviceaccounts"}
	refused := apierrors.NewForbidden(accounts, "s", errors.New("cannot find RESTMapping"))
	taken := apierrors.NewAlreadyExists(accounts, "s")
	for name, c := range map[string]struct {
		cached, live *corev1.ServiceAccount
		// answer is that to the creation of the account.
		answer     error
		made, says string
	}{
		"the account is refused":                   {answer: refused, says: "cannot find RESTMapping"},
		"the account is made":                      {made: "s-0-a s-0-b"},
		"the account is there, and not cached yet": {live: own, answer: taken, made: "s-0-a s-0-b"},
		"the account is cached":                    {cached: own, live: own, answer: refused, made: "s-0-a s-0-b"},
		"another owner's account has the name": {live: foreign, answer: taken, made: "s-0-a s-0-b",
			says: "belongs to no controller"},
	} {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{set.DeepCopy()}
			if c.cached != nil {
				cached = append(cached, c.cached.DeepCopy())
			}
			live := fake.NewClientBuilder().WithScheme(controller.Scheme())
			if c.live != nil {
				live.WithObjects(c.live.DeepCopy())
			}
			var made []string
			cache := cacheOf(cached...).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					if object.GetObjectKind().GroupVersionKind().Kind == "ServiceAccount" {
						return c.answer
					}
					return nil
				},
				Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration,
					_ ...client.ApplyOption) error {
					if applied := object.(interface {
						GetKind() string
						GetName() string
					}); applied.GetKind() == "PodClique" {
						made = append(made, applied.GetName())
					}
					return nil
				},
				SubResourceApply: forgetsStatus,
			}).Build()
			reconciler := &podcliqueset.Reconciler{
				Client: cache, Clock: testingclock.NewFakePassiveClock(time.Unix(1_800_000_000, 0)),
				Writer: controller.Writer(cache, live.Build()),
			}
			_, err := reconciler.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(set)})
			if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("the pass ends with %v, want %q", err, c.says)
			}
			slices.Sort(made)
			assert.Equal(t, c.made, strings.Join(made, " "), "made")
		})
	}
}

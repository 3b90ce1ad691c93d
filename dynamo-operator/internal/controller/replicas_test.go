package controller_test

import (
	"net/http"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// writes counts a program's writes, except for its lease and for events, which are sent at any time.
type writes struct {
	atomic.Int64
	next http.RoundTripper
}

func (w *writes) RoundTrip(request *http.Request) (*http.Response, error) {
	path := request.URL.Path
	if request.Method != http.MethodGet && !strings.Contains(path, "/leases") && !strings.Contains(path, "/events") {
		w.Add(1)
	}
	return w.next.RoundTrip(request)
}

func twoReplicas() {
	It("never both act, and one takes over from the other", func(ctx SpecContext) {
		const namespace = "replicas"
		Expect(bare.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		start := func() (*writes, func()) {
			counted := &writes{}
			config := rest.CopyConfig(second.Config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				counted.next = next
				return counted
			})
			_, stop := runOperator(config, ctrl.Options{
				LeaderElection: true, LeaderElectionID: "dynamo-operator.packtree.dev",
				LeaderElectionNamespace:       namespace,
				LeaderElectionReleaseOnCancel: true,
				// On a busy machine a lease is renewed late, and the leader must not end by itself.
				LeaseDuration: new(slow), RenewDeadline: new(slow / 2),
			})
			return counted, stop
		}
		leader := func() (string, error) {
			lease := &coordinationv1.Lease{}
			if err := bare.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "dynamo-operator.packtree.dev"},
				lease); err != nil || lease.Spec.HolderIdentity == nil {
				return "", client.IgnoreNotFound(err)
			}
			return *lease.Spec.HolderIdentity, nil
		}

		leading, stopFirst := start()
		Eventually(leader).WithTimeout(slow).ShouldNot(BeEmpty(), "the first one leads")
		follower, stopSecond := start()
		DeferCleanup(stopSecond)
		Expect(bare.Create(ctx, written(namespace, asComponents))).To(Succeed())
		key := client.ObjectKey{Namespace: namespace, Name: "components"}
		set := &grovev1alpha1.PodCliqueSet{}
		Eventually(func() error { return bare.Get(ctx, key, set) }).WithTimeout(slow).Should(Succeed())
		Expect(bare.Delete(ctx, set)).To(Succeed(), "so that there is more to do")
		Eventually(func() error { return bare.Get(ctx, key, set) }).WithTimeout(slow).Should(Succeed())
		Consistently(follower.Load, "1s").Should(BeZero())
		Expect(leading.Load()).To(BeNumerically(">", 5))

		By("the first one ending")
		stopFirst()
		wrote := leading.Load()
		change := client.RawPatch("application/json-patch+json",
			[]byte(`[{"op":"replace","path":"/spec/components/0/replicas","value":3}]`))
		Expect(bare.Patch(ctx, &v1beta1.DynamoGraphDeployment{ObjectMeta: set.ObjectMeta}, change)).To(Succeed())
		Eventually(func() (int32, error) {
			err := bare.Get(ctx, key, set)
			return set.Spec.Template.Cliques[0].Spec.Replicas, err
		}).WithTimeout(slow).Should(Equal(int32(3)))
		Expect(leading.Load()).To(Equal(wrote))
		Expect(follower.Load()).To(BeNumerically(">", 0))
	})
}

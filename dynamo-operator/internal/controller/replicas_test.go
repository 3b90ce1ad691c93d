package controller_test

import (
	"net/http"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apiservertest"
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

var _ = Describe("Two replicas of the operator", func() {
	It("never both act, and one takes over from the other", func(ctx SpecContext) {
		world, err := apiservertest.Start(envtest.WebhookInstallOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(world.Stop()).To(Succeed()) })
		live, err := client.New(world.Config, client.Options{Scheme: newScheme()})
		Expect(err).NotTo(HaveOccurred())
		start := func() (*writes, func()) {
			counted := &writes{}
			config := rest.CopyConfig(world.Config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				counted.next = next
				return counted
			})
			_, stop := runOperator(config, ctrl.Options{
				LeaderElection: true, LeaderElectionID: "dynamo-operator.packtree.dev",
				LeaderElectionNamespace:       "default",
				LeaderElectionReleaseOnCancel: true,
				// On a busy machine a lease is renewed late, and the leader must not end by itself.
				LeaseDuration: new(slow), RenewDeadline: new(slow / 2),
			})
			return counted, stop
		}
		leader := func() (string, error) {
			lease := &coordinationv1.Lease{}
			if err := live.Get(ctx, client.ObjectKey{Namespace: "default", Name: "dynamo-operator.packtree.dev"},
				lease); err != nil || lease.Spec.HolderIdentity == nil {
				return "", client.IgnoreNotFound(err)
			}
			return *lease.Spec.HolderIdentity, nil
		}

		first, stopFirst := start()
		Eventually(leader).WithTimeout(slow).ShouldNot(BeEmpty(), "the first one leads")
		second, stopSecond := start()
		DeferCleanup(stopSecond)
		Expect(live.Create(ctx, written("default", asComponents))).To(Succeed())
		key := client.ObjectKey{Namespace: "default", Name: "components"}
		set := &grovev1alpha1.PodCliqueSet{}
		Eventually(func() error { return live.Get(ctx, key, set) }).WithTimeout(slow).Should(Succeed())
		Expect(live.Delete(ctx, set)).To(Succeed(), "so that there is more to do")
		Eventually(func() error { return live.Get(ctx, key, set) }).WithTimeout(slow).Should(Succeed())
		Consistently(second.Load, "1s").Should(BeZero())
		Expect(first.Load()).To(BeNumerically(">", 5))

		By("the first one ending")
		stopFirst()
		wrote := first.Load()
		change := client.RawPatch("application/json-patch+json",
			[]byte(`[{"op":"replace","path":"/spec/components/0/replicas","value":3}]`))
		Expect(live.Patch(ctx, &v1beta1.DynamoGraphDeployment{ObjectMeta: set.ObjectMeta}, change)).To(Succeed())
		Eventually(func() (int32, error) {
			err := live.Get(ctx, key, set)
			return set.Spec.Template.Cliques[0].Spec.Replicas, err
		}).WithTimeout(slow).Should(Equal(int32(3)))
		Expect(first.Load()).To(Equal(wrote))
		Expect(second.Load()).To(BeNumerically(">", 0))
	})
})

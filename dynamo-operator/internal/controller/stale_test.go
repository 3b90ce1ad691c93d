package controller_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/controller"
	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apiservertest"
)

// staleBackend sees everything ready, like a cache that has not received the last change.
type staleBackend struct{ grove.Backend }

func (b staleBackend) Read(ctx context.Context, deployment *v1beta1.DynamoGraphDeployment) (backend.Standing, error) {
	standing, err := b.Backend.Read(ctx, deployment)
	return staleStanding{standing, deployment}, err
}

type staleStanding struct {
	backend.Standing
	deployment *v1beta1.DynamoGraphDeployment
}

func (s staleStanding) Observation() backend.Observation {
	observed := backend.Observation{
		Exists: true, Current: true, Settled: true, Ready: true,
		Services: map[string]v1beta1.ServiceReplicaStatus{}, Wanted: map[string]int32{},
	}
	for _, component := range s.deployment.Spec.Components {
		observed.Wanted[component.Name] = 1
		observed.Services[component.Name] = v1beta1.ServiceReplicaStatus{Replicas: 1, ReadyReplicas: 1,
			ScheduledReplicas: 1,
			UpdatedReplicas:   1}
	}
	return observed
}

var _ = Describe("A pass that sees what was before the last change", func() {
	It("does not take it for what came of the change", func(ctx SpecContext) {
		// No operator runs on this API server, so none can be faster.
		world, err := apiservertest.Start(envtest.WebhookInstallOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(world.Stop()).To(Succeed()) })
		live, err := client.New(world.Config, client.Options{Scheme: newScheme()})
		Expect(err).NotTo(HaveOccurred())
		Expect(live.Create(ctx, written("default", asComponents))).To(Succeed())
		key := client.ObjectKey{Namespace: "default", Name: "components"}
		reconciler := controller.NewReconciler(live, staleBackend{grove.Backend{Reader: live}})
		pass := func() string {
			current := &v1beta1.DynamoGraphDeployment{}
			Expect(live.Get(ctx, key, current)).To(Succeed())
			_, err := reconciler.Reconcile(ctx, current)
			Expect(err).NotTo(HaveOccurred())
			Expect(live.Get(ctx, key, current)).To(Succeed())
			return meta.FindStatusCondition(current.Status.Conditions, v1beta1.ConditionReady).Reason
		}
		Expect(pass()).To(Equal(v1beta1.ReasonNotYetObserved), "the PodCliqueSet was created just now")
		Expect(pass()).To(Equal(v1beta1.ReasonAllServicesReady), "nothing was to be written")

		By("making good what somebody changed")
		set := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		drift := client.RawPatch("application/json-patch+json",
			[]byte(`[{"op":"replace","path":"/spec/template/cliques/0/spec/roleName","value":"other"}]`))
		Expect(live.Patch(ctx, set, drift)).To(Succeed())
		Expect(pass()).To(Equal(v1beta1.ReasonNotYetObserved), "something was written just now")
		Expect(pass()).To(Equal(v1beta1.ReasonAllServicesReady))

		By("making good what says nothing of the replicas")
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "components-frontend"}}
		Expect(live.Delete(ctx, service)).To(Succeed())
		Expect(pass()).To(Equal(v1beta1.ReasonAllServicesReady))
		Expect(live.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
	})
})

package controller_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/controller"
	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
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

// outdated still sees a PodClique as it was, like a cache that has not received its last changes.
type outdated struct {
	client.Reader
	clique *grovev1alpha1.PodClique
}

func (o outdated) Get(
	ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption,
) error {
	if clique, ok := into.(*grovev1alpha1.PodClique); ok && key == client.ObjectKeyFromObject(o.clique) {
		o.clique.DeepCopyInto(clique)
		return nil
	}
	return o.Reader.Get(ctx, key, into, options...)
}

// stalePass makes its passes itself. No operator runs then that could be faster.
func stalePass() {
	const namespace = "stale"

	BeforeAll(func(ctx SpecContext) {
		Expect(bare.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	})

	It("does not take it for what came of the change", func(ctx SpecContext) {
		Expect(bare.Create(ctx, written(namespace, asComponents))).To(Succeed())
		key := client.ObjectKey{Namespace: namespace, Name: "components"}
		reconciler := controller.NewReconciler(bare, staleBackend{grove.Backend{Reader: bare}})
		pass := func() string {
			current := &v1beta1.DynamoGraphDeployment{}
			Expect(bare.Get(ctx, key, current)).To(Succeed())
			_, err := reconciler.Reconcile(ctx, current)
			Expect(err).NotTo(HaveOccurred())
			Expect(bare.Get(ctx, key, current)).To(Succeed())
			return meta.FindStatusCondition(current.Status.Conditions, v1beta1.ConditionReady).Reason
		}
		Expect(pass()).To(Equal(v1beta1.ReasonNotYetObserved), "the PodCliqueSet was created just now")
		Expect(pass()).To(Equal(v1beta1.ReasonAllServicesReady), "nothing was to be written")

		By("making good what a user changed")
		set := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		drift := client.RawPatch("application/json-patch+json",
			[]byte(`[{"op":"replace","path":"/spec/template/cliques/0/spec/roleName","value":"other"}]`))
		Expect(bare.Patch(ctx, set, drift)).To(Succeed())
		Expect(pass()).To(Equal(v1beta1.ReasonNotYetObserved), "something was written just now")
		Expect(pass()).To(Equal(v1beta1.ReasonAllServicesReady))

		By("making good what says nothing of the replicas")
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "components-frontend"}}
		Expect(bare.Delete(ctx, service)).To(Succeed())
		Expect(pass()).To(Equal(v1beta1.ReasonAllServicesReady))
		Expect(bare.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
	})

	It("does not undo what a user has scaled since", func(ctx SpecContext) {
		Expect(bare.Create(ctx, written(namespace, strings.Replace(asComponents, "{name: components}",
			"{name: scaled}", 1)))).To(Succeed())
		key := client.ObjectKey{Namespace: namespace, Name: "scaled"}
		pass := func(reader client.Reader) {
			current := &v1beta1.DynamoGraphDeployment{}
			Expect(bare.Get(ctx, key, current)).To(Succeed())
			_, err := controller.NewReconciler(bare, grove.Backend{Reader: reader}).Reconcile(ctx, current)
			Expect(err).NotTo(HaveOccurred())
		}
		pass(bare)
		set := &grovev1alpha1.PodCliqueSet{}
		Expect(bare.Get(ctx, key, set)).To(Succeed())
		clique := &grovev1alpha1.PodClique{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "scaled-0-frontend"},
			Spec:       set.Spec.Template.Cliques[0].Spec,
		}
		Expect(bare.Create(ctx, clique)).To(Succeed())
		replicas := func() int32 {
			current := &grovev1alpha1.PodClique{}
			Expect(bare.Get(ctx, client.ObjectKeyFromObject(clique), current)).To(Succeed())
			return current.Spec.Replicas
		}
		stop := client.RawPatch("application/json-patch+json",
			[]byte(`[{"op":"add","path":"/spec/components/0/replicas","value":0}]`))
		Expect(bare.Patch(ctx, &v1beta1.DynamoGraphDeployment{ObjectMeta: set.ObjectMeta}, stop)).To(Succeed())
		pass(bare)
		Expect(replicas()).To(Equal(int32(0)))

		five := client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}})
		Expect(bare.SubResource("scale").Update(ctx, clique.DeepCopy(), five)).To(Succeed())
		pass(outdated{bare, clique})
		Expect(replicas()).To(Equal(int32(5)), "the pass did not know that it had scaled already")
		pass(bare)
		Expect(replicas()).To(Equal(int32(5)), "the deployment asks for the same number as before")
	})
}

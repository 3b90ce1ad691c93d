package controller_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var _ = Describe("A service with a scaling adapter", func() {
	It("has the adapter's replicas until it asks for none", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		adapted := strings.Replace(asComponents, "- name: Worker\n", "- name: Worker\n      scalingAdapter: {}\n", 1)
		Expect(adapted).NotTo(Equal(asComponents))
		Expect(k8s.Create(ctx, written(namespace, adapted))).To(Succeed())
		set := eventuallySet(ctx, namespace, "components")
		adapter := &v1alpha1.DynamoGraphDeploymentScalingAdapter{}
		key := client.ObjectKey{Namespace: namespace, Name: "components-worker"}
		Eventually(func() error { return k8s.Get(ctx, key, adapter) }).WithTimeout(slow).Should(Succeed())
		Expect(adapter.Spec.DGDRef).To(
			Equal(v1alpha1.DynamoGraphDeploymentServiceRef{Name: "components", ServiceName: "Worker"}))

		By("being scaled")
		clique := &grovev1alpha1.PodClique{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "components-0-worker",
				Labels: map[string]string{grovev1alpha1.LabelPartOf: set.Name}},
			Spec: set.Spec.Template.Cliques[1].Spec,
		}
		Expect(k8s.Create(ctx, clique)).To(Succeed())
		scaleTo(ctx, adapter, 5)
		wanted := func() (int32, error) { return cliqueReplicas(ctx, clique) }
		Eventually(wanted).WithTimeout(slow).Should(Equal(int32(5)))
		Eventually(func() (v1alpha1.DynamoGraphDeploymentScalingAdapterStatus, error) {
			err := k8s.Get(ctx, key, adapter)
			return adapter.Status, err
		}).WithTimeout(slow).Should(SatisfyAll(
			HaveField("Selector", v1beta1.LabelSelector+"=components-worker"), HaveField("LastScaleTime", Not(BeNil())),
		))

		By("the deployment asking for another number, which is not its to say")
		changeWorker(ctx, namespace, func(worker *v1beta1.ComponentSpec) { worker.Replicas = new(int32(3)) })
		Consistently(wanted, "1s").Should(Equal(int32(5)))

		By("the adapter being asked for no more")
		changeWorker(ctx, namespace, func(worker *v1beta1.ComponentSpec) { worker.ScalingAdapter = nil })
		Eventually(func() error { return k8s.Get(ctx, key, adapter) }).WithTimeout(slow).Should(
			MatchError(apierrors.IsNotFound, "not found"))
		Eventually(wanted).WithTimeout(slow).Should(Equal(int32(3)))
	})
})

// changeWorker changes the worker in a deployment.
func changeWorker(ctx context.Context, namespace string, change func(*v1beta1.ComponentSpec)) {
	Eventually(func() error {
		current := deployment(ctx, namespace, "components")
		change(&current.Spec.Components[1])
		return k8s.Update(ctx, current)
	}).Should(Succeed())
}

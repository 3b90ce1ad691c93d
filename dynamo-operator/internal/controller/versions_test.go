package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

var _ = Describe("The two versions", func() {
	It("read a map of services back as a list, sorted by name", func(ctx SpecContext) {
		object := written(newNamespace(ctx), asMap)
		Expect(k8s.Create(ctx, object)).To(Succeed())

		services, found, err := unstructured.NestedSlice(object.Object, "spec", "services")
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		Expect(services).To(HaveLen(2))
		Expect(services[0]).To(HaveKeyWithValue("name", "Frontend"))
		Expect(services[1]).To(Equal(map[string]any{
			"name": "Worker", "componentType": "worker", "replicas": int64(1),
			"multinode":          map[string]any{"nodeCount": int64(4)},
			"topologyConstraint": map[string]any{"packDomain": "rack"},
			"resources":          map[string]any{"limits": map[string]any{"gpu": "8"}},
			"extraPodSpec": map[string]any{"mainContainer": map[string]any{
				"image": "vllm", "command": []any{"python3"},
				"args": []any{"-m", "dynamo.vllm", "--tensor-parallel-size", "32"},
			}},
		}))
	})

	It("take the same map by server-side apply again and again", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(applied(ctx, written(namespace, asMap))).To(Succeed())
		first := &v1alpha1.DynamoGraphDeployment{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "map"}, first)).To(Succeed())

		Eventually(func(g Gomega) {
			current := &v1alpha1.DynamoGraphDeployment{}
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(first), current)).To(Succeed())
			g.Expect(current.Status.ObservedGeneration).To(Equal(current.Generation))
		}).Should(Succeed(), "the operator has written the status, as another version's field owner")
		Expect(applied(ctx, written(namespace, asMap))).To(Succeed())

		again := &v1alpha1.DynamoGraphDeployment{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(first), again)).To(Succeed())
		Expect(again.Spec).To(Equal(first.Spec))
		Expect(again.Generation).To(Equal(first.Generation), "nothing changed")
	})

	It("show one deployment in the words of either", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, asComponents))).To(Succeed())
		key := client.ObjectKey{Namespace: namespace, Name: "components"}

		old := &v1alpha1.DynamoGraphDeployment{}
		Expect(k8s.Get(ctx, key, old)).To(Succeed())
		Expect(old.Spec.Services).To(HaveLen(2))
		Expect(old.Spec.Services[0].ExtraPodSpec.MainContainer.Image).To(Equal("frontend"))
		Expect(old.Spec.Services[0].ExtraPodMetadata.Labels).To(HaveKeyWithValue("team", "a"))

		before := &v1beta1.DynamoGraphDeployment{}
		Expect(k8s.Get(ctx, key, before)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key, old)).To(Succeed())
			old.Spec.Services[0].Replicas = new(int32(3))
			g.Expect(k8s.Update(ctx, old)).To(Succeed())
		}).Should(Succeed(), "the operator writes the status meanwhile")

		after := &v1beta1.DynamoGraphDeployment{}
		Expect(k8s.Get(ctx, key, after)).To(Succeed())
		Expect(*after.Spec.Components[0].Replicas).To(Equal(int32(3)))
		Expect(after.Spec.Components[0].PodTemplate).To(Equal(before.Spec.Components[0].PodTemplate),
			"sidecar first, as it was written")
	})
})

package controller_test

import (
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/manifests"
)

var goldens, noGoldens = filepath.Glob("../offline/testdata/*/input*.yaml")

var _ = Describe("Deployments of the golden files", func() {
	It("are there", func() {
		Expect(noGoldens).NotTo(HaveOccurred())
		Expect(len(goldens)).To(BeNumerically(">", 15))
	})

	for _, input := range goldens {
		name := strings.TrimPrefix(input, "../offline/testdata/")
		It("become what a real API server takes: "+name, func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			var deployments []client.Object
			for _, document := range documents(input) {
				if document.GetKind() == "DynamoGraphDeployment" {
					document.SetNamespace(namespace)
					deployments = append(deployments, document)
				} else if document.GetName() != grovev1alpha1.DefaultClusterTopologyName { // The suite has that.
					Expect(k8s.Create(ctx, document)).To(Succeed())
					DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, document)).To(Succeed()) })
				}
			}
			for _, written := range deployments {
				Expect(k8s.Create(ctx, written)).To(Succeed())
				deployment := &v1beta1.DynamoGraphDeployment{}
				var ready *metav1.Condition
				Eventually(func(g Gomega) {
					g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(written), deployment)).To(Succeed())
					g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
					ready = meta.FindStatusCondition(deployment.Status.Conditions, v1beta1.ConditionReady)
					g.Expect(ready.Reason).NotTo(Equal(v1beta1.ReasonNotYetWritten), "that is tried again")
				}).Should(Succeed(), "the operator has made everything, or says why not")
				Expect(ready.Reason).To(Equal(v1beta1.ReasonNotYetObserved),
					"nothing was refused, and Grove is not there: %s", ready.Message)
			}
			for _, made := range documents(filepath.Join(filepath.Dir(input), "output.yaml")) {
				if strings.HasPrefix(made.GetKind(), "ClusterTopology") {
					continue
				}
				key := client.ObjectKey{Namespace: namespace, Name: made.GetName()}
				Expect(k8s.Get(ctx, key, made)).To(Succeed())
				owned := func(deployment client.Object) bool { return metav1.IsControlledBy(made, deployment) }
				Expect(slices.ContainsFunc(deployments, owned)).To(BeTrue(), "%s %s goes with a deployment",
					made.GetKind(), made.GetName())
			}
		})
	}
})

// documents are the objects of a manifest.
func documents(file string) []*unstructured.Unstructured {
	read, findings := manifests.Read([]string{file}, nil)
	ExpectWithOffset(1, findings).To(BeEmpty())
	var objects []*unstructured.Unstructured
	for _, document := range read {
		objects = append(objects, document.Object)
	}
	return objects
}

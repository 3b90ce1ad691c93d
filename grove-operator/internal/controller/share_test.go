package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/pace"
)

var _ = Describe("What is more than the share of a pass", func() {
	It("is done in further passes, and is no error", func() {
		const (
			replicas = pace.Share + 8 // Each has a Service and a PodClique.
			patience = 3 * time.Minute
		)
		in := namespace()
		set := createSet(in, `
metadata: {name: s}
spec:
  replicas: 0
  template:
    cliques: [{name: a, spec: {podSpec: {containers: [{name: c, image: i}]}}}]
`)
		errorsOf := func() []grovev1alpha1.LastError { return get(in, "s", &grovev1alpha1.PodCliqueSet{}).Status.LastErrors }
		services := func() []corev1.Service {
			var list corev1.ServiceList
			Expect(c.List(ctx, &list, client.InNamespace(in))).To(Succeed())
			return list.Items
		}
		podCliques := func() []grovev1alpha1.PodClique {
			var list grovev1alpha1.PodCliqueList
			Expect(c.List(ctx, &list, client.InNamespace(in))).To(Succeed())
			return list.Items
		}

		By("scaling a set out to more children")
		scale(set, replicas)
		Eventually(func(g Gomega) {
			g.Expect(podCliques()).To(HaveLen(replicas))
			g.Expect(services()).To(HaveLen(replicas))
			g.Expect(errorsOf()).To(BeEmpty())
		}).WithTimeout(patience).Should(Succeed())

		By("scaling a PodClique out to more pods")
		scale(get(in, "s-0-a", &grovev1alpha1.PodClique{}), replicas)
		Eventually(podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "s-0-a"})).WithTimeout(patience).Should(HaveLen(replicas))

		By("scaling it to zero")
		scale(set, 0)
		Eventually(func(g Gomega) {
			for _, pod := range podsOf(in, nil)() {
				g.Expect(client.IgnoreNotFound(c.Delete(ctx, &pod, client.GracePeriodSeconds(0)))).To(Succeed())
			}
			g.Expect(podCliques()).To(BeEmpty())
			g.Expect(services()).To(BeEmpty())
		}).WithTimeout(patience).Should(Succeed())
		Expect(errorsOf()).To(BeEmpty())
		Expect(told(in)()).NotTo(ContainElement(ContainSubstring("ReconcileFailed")))
	})
})

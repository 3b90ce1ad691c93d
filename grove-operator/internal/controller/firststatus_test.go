package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/controller"
)

var _ = Describe("The first status of a set", func() {
	It("is about the children that were made for it", func() {
		in := namespace()
		watching, err := client.NewWithWatch(rcfg, client.Options{Scheme: controller.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		seen, err := watching.Watch(ctx, &grovev1alpha1.PodCliqueSetList{}, client.InNamespace(in))
		Expect(err).NotTo(HaveOccurred())
		defer seen.Stop()
		createSet(in, `
metadata: {name: s}
spec:
  replicas: 2
  template: {cliques: [{name: a, spec: {replicas: 1}}, {name: b, spec: {replicas: 1}}]}
`)
		for first := false; !first; {
			event := <-seen.ResultChan()
			set, ok := event.Object.(*grovev1alpha1.PodCliqueSet)
			Expect(ok).To(BeTrue(), "the watch ended: %v", event)
			first = set.Status.ObservedGeneration > 0
			if first {
				Expect(set.Status.Replicas).To(BeEquivalentTo(2))
				Expect(set.Status.CurrentGenerationHash).NotTo(BeNil())
				Expect(meta.FindStatusCondition(set.Status.Conditions, "Ready").Reason).NotTo(Equal("ReplicasMissing"))
				Expect(meta.FindStatusCondition(set.Status.Conditions, "TopologyLevelsUnavailable")).NotTo(BeNil())
			}
		}
	})
})

package webhook_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var _ = Describe("A ClusterTopology", func() {
	It("is held from the first moment on, and not chosen any more once it is deleted", func() {
		going, staying := useTopology("going", "zone"), useTopology("staying", "zone")
		Expect(going.Finalizers).To(ConsistOf(grovev1alpha1.FinalizerClusterTopology))
		using := set(
			"{clusterTopologyName: going, topologyConstraint: {packDomain: zone}, cliques: [" + bare("a") + "]}")
		Expect(c.Create(ctx, using)).To(Succeed())
		elsewhere := set(
			"{clusterTopologyName: staying, topologyConstraint: {packDomain: zone}, cliques: [" +
				bare("a") + "]}")
		Expect(c.Create(ctx, elsewhere)).To(Succeed())
		Expect(c.Delete(ctx, going)).To(Succeed())

		late := set(
			"{clusterTopologyName: going, topologyConstraint: {packDomain: zone}, cliques: [" + bare("a") + "]}")
		err := c.Create(ctx, late)
		Expect(causes(err)).To(ConsistOf("spec.template.clusterTopologyName"))
		Expect(err).To(MatchError(ContainSubstring("is being deleted")))
		turned := elsewhere.DeepCopy()
		turned.Spec.Template.ClusterTopologyName = going.Name
		Expect(causes(c.Update(ctx, turned))).To(ConsistOf("spec.template.clusterTopologyName"))

		scale := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))
		Expect(c.Patch(ctx, using, scale)).To(Succeed(), "who uses it goes on")
		back := using.DeepCopy()
		back.Spec.Template.ClusterTopologyName = staying.Name
		Expect(c.Update(ctx, back)).To(Succeed(), "and may turn away from it")
	})
})

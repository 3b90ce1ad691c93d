package controller_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var _ = Describe("Deletion", func() {
	It("takes children along that lost their owner to the garbage collector", func() {
		in, set := running()
		By("orphaning them, as deletion with that propagation has the garbage collector do")
		Expect(c.Delete(ctx, set, client.PropagationPolicy("Orphan"))).To(Succeed())
		orphan := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"ownerReferences":null}}`))
		var podCliques grovev1alpha1.PodCliqueList
		Expect(c.List(ctx, &podCliques, client.InNamespace(in))).To(Succeed())
		for i := range podCliques.Items {
			Expect(client.IgnoreNotFound(c.Patch(ctx, &podCliques.Items[i], orphan))).To(Succeed())
		}
		Eventually(func() map[string]types.UID {
			end(in, nil)
			return identities(in)
		}).Should(BeEmpty())
		Eventually(func() []client.Object { return createdIn(in) }).Should(BeEmpty())
		Eventually(func() []string { return get(in, "inf", set).Finalizers }).Should(ConsistOf("orphan"),
			"what is left is the garbage collector's")
		patch(set, `{"metadata":{"finalizers":null}}`)
	})

	It("in the foreground waits for the pods, and leaves no more than the garbage collector's own finalizer", func() {
		in, set := running()
		for _, object := range createdIn(in) {
			owner := metav1.GetControllerOf(object)
			Expect(owner).NotTo(BeNil(), object.GetName())
			Expect(owner.BlockOwnerDeletion).To(HaveValue(BeTrue()), "%s would not hold its owner up", object.GetName())
		}
		Expect(c.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		remaining := func() []string {
			return slices.Sorted(slices.Values(get(in, "inf", &grovev1alpha1.PodCliqueSet{}).Finalizers))
		}
		Eventually(podsOf(in, nil)).Should(HaveEach(HaveField("DeletionTimestamp", Not(BeNil()))))
		Consistently(remaining).Should(ConsistOf("foregroundDeletion", "grove.io/podcliqueset.grove.io"))
		Expect(get(in, "inf-0-sg-0-worker", &grovev1alpha1.PodClique{}).Finalizers).To(
			ContainElement("grove.io/podclique.grove.io"))

		By("ending the pods")
		Eventually(func() []string {
			end(in, nil)
			return remaining()
		}).Should(ConsistOf("foregroundDeletion"))
		Eventually(func() []client.Object { return createdIn(in) }).Should(BeEmpty())
		Consistently(func() []client.Object { return createdIn(in) }).Should(BeEmpty(),
			"nothing comes back while the set is still there")
	})

	It("of a PodClique in the foreground brings it back with all its pods", func() {
		in, _ := running()
		before := identities(in)
		router := get(in, "inf-0-router", &grovev1alpha1.PodClique{})
		Expect(c.Delete(ctx, router, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(func() []string {
			end(in, nil)
			return get(in, "inf-0-router", &grovev1alpha1.PodClique{}).Finalizers
		}).Should(ConsistOf("foregroundDeletion"))
		patch(router, `{"metadata":{"finalizers":null}}`)
		Eventually(func() bool {
			err := c.Get(ctx, client.ObjectKey{Namespace: in, Name: "inf-0-router"}, router)
			return err == nil && router.UID != before["PodClique inf-0-router"] || err != nil &&
				!apierrors.IsNotFound(err)
		}).Should(BeTrue())
		Eventually(func() map[string]types.UID { return identities(in) }).Should(HaveLen(len(before)))
		settle(in, "1/1/1 AllReplicasAvailable")
		after := identities(in)
		Expect(without(after, "inf-0-router")).To(Equal(without(before, "inf-0-router")))
		Expect(after).To(HaveLen(len(before)))
	})
})

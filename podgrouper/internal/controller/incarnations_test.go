package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("An owner that is deleted", func() {
	It("and made again as a PodGang of the same name begins with a PodGroup of its own", func(ctx SpecContext) {
		create(ctx, newPodGang("gang", ""))
		Eventually(podGroup(ctx, "gang")).Should(WithTransform(validity, Not(BeNil())))
		create(ctx, newCliquePod("early", "gang"))
		Eventually(podGroupNameOf(ctx, "early")).Should(Equal("gang"))
		old := says(ctx, "gang", metav1.Condition{
			Type: scheduling.ConditionScheduled, Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced,
			Message: "every pod has a node",
		})
		patch(ctx, old, `{"metadata":{"finalizers":["example.com/slow"]}}`)
		Expect(api.Delete(ctx, newInNamespace(newPodGang("gang", "")))).To(Succeed())
		Consistently(podGroup(ctx, "gang"), "300ms").Should(HaveField("DeletionTimestamp", BeNil()))
		again := create(ctx, newPodGang("gang", ""))
		Eventually(podGroup(ctx, "gang")).ShouldNot(HaveField("DeletionTimestamp", BeNil()))
		create(ctx, newCliquePod("late", "gang"))
		Eventually(scheduled(ctx, "gang")).Should(
			condition(metav1.ConditionUnknown, scheduling.ReasonWaiting, "an earlier owner of its name"))
		Expect(podGroupNameOf(ctx, "late")()).To(BeEmpty())
		Consistently(podGroup(ctx, "gang"), "300ms").Should(
			HaveField("OwnerReferences", ConsistOf(HaveField("UID", old.OwnerReferences[0].UID))))

		patch(ctx, old, `{"metadata":{"finalizers":null}}`)
		Eventually(podGroup(ctx, "gang")).Should(And(
			HaveField("UID", Not(Equal(old.UID))),
			HaveField("OwnerReferences", ConsistOf(HaveField("UID", again.UID)))))
		Eventually(scheduled(ctx, "gang")).Should(
			condition(metav1.ConditionUnknown, scheduling.ReasonWaiting, "not looked at the gang"))
		Eventually(podGroupNameOf(ctx, "late")).Should(Equal("gang"))
	})

	It("leaves a PodGroup that is kept without it to the next PodGang of its name", func(ctx SpecContext) {
		create(ctx, newPodGang("gang", ""))
		Eventually(podGroup(ctx, "gang")).Should(WithTransform(validity, Not(BeNil())))
		create(ctx, newCliquePod("pod", "gang"))
		Eventually(podGroupNameOf(ctx, "pod")).Should(Equal("gang"))
		Expect(api.Delete(ctx, newInNamespace(newPodGang("gang", "")))).To(Succeed())
		Eventually(func() error { return cached.Get(ctx, named("gang"), &grovescheduler.PodGang{}) }).Should(
			MatchError(apierrors.IsNotFound, "not found"), "the pod grouper knows that it is gone")
		orphan, err := podGroup(ctx, "gang")()
		Expect(err).NotTo(HaveOccurred())
		patch(ctx, orphan, `{"metadata":{"ownerReferences":null}}`)
		again := create(ctx, newPodGang("gang", ""))
		Eventually(podGroup(ctx, "gang")).Should(And(
			HaveField("UID", orphan.UID), HaveField("OwnerReferences", ConsistOf(HaveField("UID", again.UID)))))
	})

	It("is missed by no PodGroup once its pods are finished", func(ctx SpecContext) {
		job := create(ctx, newJob("train", nil))
		pod := create(ctx, newPod("train-0", job))
		Eventually(podGroupNameOf(ctx, "train-0")).ShouldNot(BeEmpty())
		Expect(api.Status().Patch(ctx, pod,
			client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`)))).To(Succeed())
		late := create(ctx, newPod("train-1", job))
		Eventually(podGroupNameOf(ctx, "train-1")).ShouldNot(BeEmpty())
		Expect(api.Status().Patch(ctx, late,
			client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`)))).To(Succeed())
		group, err := podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
		// As long as the PodGroup stays away, the phases have been seen.
		Eventually(func(g Gomega) {
			err := api.Delete(ctx, group)
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			g.Consistently(podGroups(ctx), "300ms").Should(BeEmpty())
		}).Should(Succeed())
	})

	It("gets no PodGroup any more while it goes", func(ctx SpecContext) {
		job := newJob("train", nil)
		job.Finalizers = []string{"example.com/slow"}
		create(ctx, job)
		create(ctx, newPod("train-0", job))
		Eventually(podGroupNameOf(ctx, "train-0")).ShouldNot(BeEmpty())
		Expect(api.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(func(g Gomega) { // As long as no PodGroup comes back, it is known that the owner goes.
			g.Expect(api.DeleteAllOf(ctx, &scheduling.PodGroup{}, client.InNamespace(namespace))).To(Succeed())
			g.Consistently(podGroups(ctx), "300ms").Should(BeEmpty())
		}).Should(Succeed())
		create(ctx, newPod("train-1", job))
		patch(ctx, newInNamespace(newPod("train-0", nil)), `{"metadata":{"labels":{"touched":"yes"}}}`)
		Consistently(podGroups(ctx), "500ms").Should(BeEmpty())
		pod := &corev1.Pod{}
		Expect(api.Get(ctx, named("train-1"), pod)).To(Succeed())
		Expect(pod.Annotations).To(BeEmpty())
		patch(ctx, job, `{"metadata":{"finalizers":null}}`)
	})
})

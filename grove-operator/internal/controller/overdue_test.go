package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/apply"
	"packtree.dev/grove-operator/internal/controller/podclique"
)

// at reconciles a PodClique as the operator does at a moment.
func at(moment time.Time, in, name string) reconcile.Result {
	GinkgoHelper()
	reconciler := &podclique.Reconciler{Client: cached, Writer: apply.Writer{Client: cached, Live: c}, Clock: testclock.NewFakePassiveClock(moment)}
	result, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: in, Name: name}})
	Expect(err).NotTo(HaveOccurred())
	return result
}

// served are the pods that the headless Service of the first replica selects.
func served(in string) func() []string {
	return func() []string {
		GinkgoHelper()
		service := get(in, "inf-0", &corev1.Service{})
		return names(podsOf(in, client.MatchingLabels(service.Spec.Selector))())
	}
}

var _ = Describe("A pod on a node that does not answer", func() {
	// cutOff deletes a router pod, which nobody ends, and waits until the operator knows.
	cutOff := func(in string) *corev1.Pod {
		GinkgoHelper()
		pod := podsOf(in, client.MatchingLabels{"grove.io/podclique": "inf-0-router"})()[0]
		Expect(c.Delete(ctx, &pod, client.GracePeriodSeconds(30))).To(Succeed())
		known := &corev1.Pod{}
		Eventually(func() bool {
			Expect(cached.Get(ctx, client.ObjectKeyFromObject(&pod), known)).To(Succeed())
			return known.DeletionTimestamp != nil
		}).Should(BeTrue())
		return known
	}

	It("is replaced a minute past its grace period, and leaves the Service before", func() {
		in, _ := running()
		routers := client.MatchingLabels{"grove.io/podclique": "inf-0-router"}
		stuck := cutOff(in)
		graceEnds := stuck.DeletionTimestamp.Time

		result := at(graceEnds.Add(59*time.Second), in, "inf-0-router")
		Expect(result.RequeueAfter).To(Equal(time.Second))
		Expect(podsOf(in, routers)()).To(HaveLen(2))
		Expect(served(in)()).To(ContainElement(stuck.Name))

		at(graceEnds.Add(time.Minute), in, "inf-0-router")
		Expect(served(in)()).NotTo(ContainElement(stuck.Name))
		var successors []corev1.Pod
		for _, pod := range podsOf(in, routers)() {
			if pod.Name != stuck.Name && pod.Spec.Hostname == stuck.Spec.Hostname {
				successors = append(successors, pod)
			}
		}
		Expect(successors).To(HaveLen(1))
		Expect(served(in)()).To(ContainElement(successors[0].Name))
		Expect(podsOf(in, routers)()).To(HaveLen(3), "the stuck pod is still there")

		By("being left alone from then on")
		left := get(in, stuck.Name, &corev1.Pod{})
		Eventually(func() map[string]string {
			known := &corev1.Pod{}
			Expect(cached.Get(ctx, client.ObjectKeyFromObject(left), known)).To(Succeed())
			return known.Labels
		}).ShouldNot(HaveKey(grovev1alpha1.LabelPodCliqueSetReplicaIndex))
		at(graceEnds.Add(time.Hour), in, "inf-0-router")
		Expect(get(in, stuck.Name, &corev1.Pod{}).ResourceVersion).To(Equal(left.ResourceVersion))
	})

	It("leaves the Service, and holds its PodClique no longer, when that is deleted", func() {
		in, _ := running()
		stuck := cutOff(in)
		graceEnds := stuck.DeletionTimestamp.Time
		deleted := get(in, "inf-0-router", &grovev1alpha1.PodClique{})
		Expect(c.Delete(ctx, deleted)).To(Succeed())
		Eventually(func() []string {
			for _, pod := range podsOf(in, client.MatchingLabels{"grove.io/podclique": "inf-0-router"})() {
				if pod.DeletionTimestamp != nil && pod.Name != stuck.Name {
					Expect(client.IgnoreNotFound(c.Delete(ctx, &pod, client.GracePeriodSeconds(0)))).To(Succeed())
				}
			}
			var known corev1.PodList
			Expect(cached.List(ctx, &known, client.InNamespace(in), client.MatchingLabels{"grove.io/podclique": "inf-0-router"})).To(Succeed())
			return names(known.Items)
		}).Should(ConsistOf(stuck.Name))

		Expect(at(graceEnds.Add(59*time.Second), in, "inf-0-router").RequeueAfter).To(Equal(time.Second))
		Expect(get(in, "inf-0-router", &grovev1alpha1.PodClique{}).UID).To(Equal(deleted.UID))
		Expect(served(in)()).To(ContainElement(stuck.Name))

		at(graceEnds.Add(time.Minute), in, "inf-0-router")
		Expect(served(in)()).NotTo(ContainElement(stuck.Name))
		Eventually(func() types.UID {
			made := &grovev1alpha1.PodClique{}
			Expect(client.IgnoreNotFound(c.Get(ctx, client.ObjectKeyFromObject(deleted), made))).To(Succeed())
			return made.UID
		}).ShouldNot(Or(BeEmpty(), Equal(deleted.UID)), "another is made in its place")
	})
})

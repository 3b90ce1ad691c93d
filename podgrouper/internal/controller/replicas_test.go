package controller_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// createTogether creates pods of a Job all at once.
func createTogether(ctx context.Context, job *batchv1.Job, from, to int) {
	GinkgoHelper()
	var creating sync.WaitGroup
	for i := from; i < to; i++ {
		creating.Go(func() {
			defer GinkgoRecover()
			create(ctx, newPod(fmt.Sprintf("train-%d", i), job))
		})
	}
	creating.Wait()
	for i := from; i < to; i++ {
		Eventually(podGroupNameOf(ctx, fmt.Sprintf("train-%d", i))).Should(Equal(podGroupOfJob(job)))
	}
}

// atRest waits until a PodGroup is not written any more, and returns it.
func atRest(ctx context.Context, name string) *scheduling.PodGroup {
	GinkgoHelper()
	var found *scheduling.PodGroup
	Eventually(func(g Gomega) {
		var err error
		found, err = podGroup(ctx, name)()
		g.Expect(err).NotTo(HaveOccurred())
		g.Consistently(podGroup(ctx, name), "500ms").Should(HaveField("ResourceVersion", found.ResourceVersion))
	}).Should(Succeed())
	return found
}

// podVersions returns the resource version of each pod.
func podVersions(ctx context.Context) map[string]string {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(api.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	versions := map[string]string{}
	for _, pod := range pods.Items {
		versions[pod.Name] = pod.ResourceVersion
	}
	return versions
}

var _ = Describe("Several pod groupers", func() {
	It("that all act write the same", func(ctx SpecContext) {
		stop, _ := start(ctrl.Options{})
		DeferCleanup(stop)
		job := create(ctx, newJob("train", map[string]string{kai.AnnotationBatchMinMember: "3"}))
		createTogether(ctx, job, 0, 60)
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/batch-min-member":"2"}}}`)
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(
			HaveField("Spec", Equal(scheduling.PodGroupSpec{MinMember: new(int32(2))})))
		// One that has not heard of the Job's change yet may write the other's wish back, until it has.
		Eventually(func(g Gomega) {
			found := atRest(ctx, podGroupOfJob(job))
			g.Expect(found.Spec.MinMember).To(HaveValue(BeEquivalentTo(2)))
			g.Expect(validity(found)).To(HaveField("ObservedGeneration", found.Generation))
		}).Should(Succeed())
		Expect(podGroups(ctx)()).To(HaveLen(1))
	})

	It("with a lease take turns, and the next has nothing to write again", func(ctx SpecContext) {
		stopPodGrouper()
		DeferCleanup(func() { stopPodGrouper, cached = start(ctrl.Options{}) })
		elected := ctrl.Options{
			LeaderElection: true, LeaderElectionID: "podgrouper", LeaderElectionNamespace: namespace,
			LeaderElectionReleaseOnCancel: true,
			// On a busy machine a lease is renewed late, and must not be lost for that.
			LeaseDuration: new(3 * time.Minute), RenewDeadline: new(2 * time.Minute),
			RetryPeriod: new(100 * time.Millisecond),
		}
		stopFirst, _ := start(elected)
		job := create(ctx, newJob("train", nil))
		createTogether(ctx, job, 0, 20)
		stopSecond, _ := start(elected)
		DeferCleanup(stopSecond)
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(WithTransform(validity, Not(BeNil())))
		before := atRest(ctx, podGroupOfJob(job))
		written := writes.of(podGroupOfJob(job))
		grouped := podVersions(ctx)

		stopFirst()
		createTogether(ctx, job, 20, 40)
		Expect(podGroup(ctx, podGroupOfJob(job))()).To(HaveField("ResourceVersion", before.ResourceVersion))
		Expect(writes.of(podGroupOfJob(job))).To(Equal(written))
		// With a cache that lags behind, the next pass may apply once more what a pod has already. That changes no pod.
		after := podVersions(ctx)
		for name, version := range grouped {
			Expect(after).To(HaveKeyWithValue(name, version))
		}
		Expect(grouped).To(HaveLen(20))
	})
})

var _ = Describe("A PodGroup that another client makes just before", func() {
	It("is left as it is", func(ctx SpecContext) {
		writes.whileApplying("gang", func() {
			create(ctx, &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang"},
				Spec: scheduling.PodGroupSpec{MinMember: new(int32(7))}})
		})
		create(ctx, newPodGang("gang", ""))
		Eventually(eventsOn(ctx, "PodGang", "gang")).Should(ContainElement(ContainSubstring("is not managed by podgrouper")))
		Expect(podGroup(ctx, "gang")()).To(
			And(HaveField("Spec", Equal(scheduling.PodGroupSpec{MinMember: new(int32(7))})),
				HaveField("OwnerReferences", BeEmpty())))
	})

	It("in the place of the pod grouper's own is left as it is", func(ctx SpecContext) {
		gang := create(ctx, newPodGang("gang", ""))
		Eventually(podGroup(ctx, "gang")).Should(WithTransform(validity, Not(BeNil())))
		own, err := podGroup(ctx, "gang")()
		Expect(err).NotTo(HaveOccurred())
		writes.whileApplying("gang", func() {
			Expect(api.Delete(ctx, own)).To(Succeed())
			create(ctx, &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang"},
				Spec: scheduling.PodGroupSpec{MinMember: new(int32(7))}})
		})
		patch(ctx, gang, `{"spec":{"podgroups":[{"name":"more","minReplicas":3,"podReferences":[]}]}}`)
		Eventually(eventsOn(ctx, "PodGang", "gang")).Should(ContainElement(ContainSubstring("is not managed by podgrouper")))
		Expect(podGroup(ctx, "gang")()).To(HaveField("Spec", Equal(scheduling.PodGroupSpec{MinMember: new(int32(7))})))
	})
})

package controller_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// expectedPods returns the expected pods in a PodGroup's annotation.
func expectedPods(ctx context.Context, name string) func() (string, error) {
	return func() (string, error) {
		found, err := podGroup(ctx, name)()
		if err != nil {
			return "", err
		}
		return found.Annotations[scheduling.AnnotationExpectedPods], nil
	}
}

var _ = Describe("The pods that are expected", func() {
	It("are known with the first pod, and before the first one of those that are added", func(ctx SpecContext) {
		job := newJob("train", nil)
		job.Spec.Parallelism = new(int32(4))
		job = create(ctx, job)
		create(ctx, newPod("train-0", job))
		Eventually(podGroupNameOf(ctx, "train-0")).Should(Equal(podGroupOfJob(job)))
		Expect(expectedPods(ctx, podGroupOfJob(job))()).To(Equal(`{"":4}`))

		patch(ctx, job, `{"spec":{"parallelism":6}}`)
		Eventually(expectedPods(ctx, podGroupOfJob(job))).Should(Equal(`{"":6}`), "nobody has made a pod yet")

		patch(ctx, job, `{"spec":{"parallelism":1}}`)
		Eventually(expectedPods(ctx, podGroupOfJob(job))).Should(Equal(`{"":1}`),
			"no seats are held for those that were scaled in")
	})

	It("are written again where another client has changed them", func(ctx SpecContext) {
		job := newJob("train", nil)
		job.Spec.Parallelism = new(int32(4))
		job = create(ctx, job)
		create(ctx, newPod("train-0", job))
		Eventually(podGroupNameOf(ctx, "train-0")).Should(Equal(podGroupOfJob(job)))
		found, err := podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
		patch(ctx, found, `{"metadata":{"annotations":{"packtree.dev/expected-pods":"{\"\":9}"}}}`)
		Eventually(expectedPods(ctx, podGroupOfJob(job))).Should(Equal(`{"":4}`))
	})

	It("are those that a PodGang speaks of", func(ctx SpecContext) {
		gang := newPodGang("gang", "")
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, scheduling.AnnotationExpectedPods, `{"gang-workers":4}`)
		create(ctx, gang)
		Eventually(expectedPods(ctx, "gang")).Should(Equal(`{"gang-workers":4}`))
	})
})

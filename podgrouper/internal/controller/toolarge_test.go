package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// toStore is the time that the API server may need for a large PodGroup.
const toStore = 10 * time.Minute

// segmented makes an indexed Job of so many segments, each with a constraint of two long levels, and its first pod.
func segmented(ctx SpecContext, segments int32) *batchv1.Job {
	GinkgoHelper()
	job := newJob("train", map[string]string{
		kai.AnnotationSegmentSize:      "1",
		kai.AnnotationTopology:         "network-of-the-whole-data-center",
		kai.AnnotationSegmentRequired:  "topology.kubernetes.io/zone-of-the-data-center",
		kai.AnnotationSegmentPreferred: "topology.kubernetes.io/rack-of-the-data-center",
	})
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	job.Spec.Completions, job.Spec.Parallelism = &segments, &segments
	create(ctx, job)
	member := newPod("train-0", job)
	member.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "0"}
	create(ctx, member)
	return job
}

var _ = Describe("A PodGroup of thousands of groups", func() {
	It("is reported if the API server cannot store it: its gang must not wait in silence", func(ctx SpecContext) {
		job := segmented(ctx, 8192)
		Eventually(eventsOn(ctx, "Job", "train"), toStore).Should(ContainElement(And(
			ContainSubstring(
				"8192 groups, with the constraints that they have, are more than the API server can store"),
			ContainSubstring("make its segments or subgroups larger"))))
		Expect(podGroupNameOf(ctx, "train-0")()).To(BeEmpty())
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/segment-size":"64"}}}`)
		Eventually(podGroupNameOf(ctx, "train-0"), toStore).Should(Equal(podGroupOfJob(job)))
	})

	It("is reported if only etcd finds it too large", func(ctx SpecContext) {
		segmented(ctx, 4500)
		Eventually(eventsOn(ctx, "Job", "train"), toStore).Should(ContainElement(
			ContainSubstring(
				"4500 groups, with the constraints that they have, are more than the API server can store")))
	})
})

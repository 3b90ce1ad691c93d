package controller_test

import (
	"context"
	"fmt"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// subGroupOf reads the leaf that a pod names; empty if it names none.
func subGroupOf(ctx context.Context, pod string) func() (string, error) {
	return func() (string, error) {
		seen := &corev1.Pod{}
		err := api.Get(ctx, named(pod), seen)
		return seen.Labels[kai.LabelSubGroupName], err
	}
}

var _ = Describe("An indexed Job that is divided into segments", func() {
	var job *batchv1.Job
	pod := func(index int) string { return fmt.Sprintf("train-%d", index) }

	BeforeEach(func(ctx SpecContext) {
		job = newJob("train", map[string]string{kai.AnnotationSegmentSize: "2"})
		job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		job.Spec.Completions, job.Spec.Parallelism = new(int32(5)), new(int32(5))
		create(ctx, job)
		for index := range 5 {
			member := newPod(pod(index), job)
			member.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)}
			create(ctx, member)
		}
	})

	It("has every pod name its segment", func(ctx SpecContext) {
		for index := range 5 {
			Eventually(subGroupOf(ctx, pod(index))).Should(Equal(fmt.Sprintf("segment-%d", index/2)))
		}
		Expect(podGroup(ctx, podGroupOfJob(job))()).To(HaveField("Spec", scheduling.PodGroupSpec{
			MinSubGroup: new(int32(1)),
			SubGroups: []scheduling.SubGroup{
				{Name: "segment-0", MinMember: new(int32(2))}, {Name: "segment-1", MinMember: new(int32(2))},
				{Name: "segment-2", MinMember: new(int32(1))},
			},
		}))
		Expect(writes.of(podGroupOfJob(job))).To(Equal(1))
	})

	It("follows another size, and none", func(ctx SpecContext) {
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/segment-size":"4"}}}`)
		Eventually(subGroupOf(ctx, pod(3))).Should(Equal("segment-0"))
		Eventually(subGroupOf(ctx, pod(4))).Should(Equal("segment-1"))
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/segment-size":null}}}`)
		for index := range 5 {
			Eventually(subGroupOf(ctx, pod(index))).Should(BeEmpty())
		}
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(
			HaveField("Spec", scheduling.PodGroupSpec{MinMember: new(int32(1))}))
	})
})

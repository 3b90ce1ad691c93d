package controller_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("What is wrong with annotations", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		topology := newTopology("checked", "topology/zone", "topology/block", "topology/rack")
		Expect(api.Create(ctx, topology)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(api.Delete(ctx, topology)).To(Succeed()) })
		Eventually(func() error {
			return cached.Get(ctx, client.ObjectKeyFromObject(topology), &kai.Topology{})
		}).Should(Succeed(), "the pod grouper knows it")
	})

	of := func(keysAndValues ...string) map[string]string {
		annotations := map[string]string{}
		for i := 0; i < len(keysAndValues); i += 2 {
			annotations[keysAndValues[i]] = keysAndValues[i+1]
		}
		return annotations
	}
	inTemplate := func(annotations map[string]string) func(*batchv1.Job) {
		return func(job *batchv1.Job) { job.Spec.Template.Annotations = annotations }
	}
	onJob := func(annotations map[string]string) func(*batchv1.Job) {
		return func(job *batchv1.Job) { job.Annotations = annotations }
	}
	DescribeTable("is reported once on the owner, and stands in the PodGroup's condition",
		func(ctx SpecContext, write func(*batchv1.Job), message string) {
			job := newJob("train", nil)
			write(job)
			create(ctx, job)
			const pods = 5
			for i := range pods {
				create(ctx, newPod(fmt.Sprintf("train-%d", i), job))
			}
			for i := range pods {
				Eventually(podGroupNameOf(ctx, fmt.Sprintf("train-%d", i))).Should(Equal(podGroupOfJob(job)))
			}
			Eventually(podGroup(ctx, podGroupOfJob(job))).Should(WithTransform(validity,
				condition(metav1.ConditionFalse, scheduling.ReasonInvalidOwner, message)))
			Eventually(eventsOn(ctx, "Job", "train")).Should(ConsistOf("InvalidGrouping: " + message))
			patch(ctx, job, `{"metadata":{"labels":{"touched":"yes"}}}`)
			Consistently(eventsOn(ctx, "Job", "train"), "300ms").Should(ConsistOf("InvalidGrouping: " + message))
		},
		Entry("an unknown level in a template",
			inTemplate(of(kai.AnnotationTopology, "checked", kai.AnnotationTopologyRequired, "rack")),
			`spec.template.metadata.annotations[kai.scheduler/topology-required-placement]: Invalid value: "rack": `+
				`Topology "checked" has no such level, its levels are: topology/zone, topology/block, topology/rack; did you mean topology/rack?`),
		Entry("a minimum that cannot be met", onJob(of(kai.AnnotationBatchMinMember, "5")),
			`metadata.annotations[kai.scheduler/batch-min-member]: Invalid value: "5": at most 4 run at a time, so that none ever starts: lower it, or raise spec.parallelism`),
	)
})

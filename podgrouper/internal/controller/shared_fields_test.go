package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("A PodGroup that others write to as well", func() {
	var (
		job   *batchv1.Job
		group *scheduling.PodGroup
	)
	BeforeEach(func(ctx SpecContext) {
		job = newJob("train", map[string]string{kai.AnnotationBatchMinMember: "3"})
		job.Labels = map[string]string{kai.LabelQueue: "a", kai.LabelPriorityClassName: "high",
			kai.LabelPreemptibility: "preemptible"}
		create(ctx, job)
		create(ctx, newPod("train-0", job))
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(WithTransform(validity, Not(BeNil())))
		Eventually(podGroupNameOf(ctx, "train-0")).ShouldNot(BeEmpty())
		var err error
		group, err = podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
	})

	It("keeps what an administrator sets, whatever happens to the workload", func(ctx SpecContext) {
		patch(ctx, group, `{"spec":{"queue":"b","priorityClassName":"low","preemptibility":"non-preemptible",
			"markUnschedulable":true,"schedulingBackoff":-1,"preemptionDelay":"30s","stalenessGracePeriod":"60s"}}`)
		theirs := group.Spec.DeepCopy()
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/batch-min-member":"2"},
			"labels":{"kai.scheduler/queue":"c","priorityClassName":"middle","kai.scheduler/preemptibility":null}}}`)
		theirs.MinMember = new(int32(2))
		Eventually(podGroup(ctx, group.Name)).Should(HaveField("Spec", Equal(*theirs)))
		create(ctx, newPod("train-1", job))
		Eventually(podGroupNameOf(ctx, "train-1")).Should(Equal(group.Name))
		Consistently(podGroup(ctx, group.Name), "300ms").Should(HaveField("Spec", Equal(*theirs)))
	})

	It("keeps what an administrator sets in the moment in which the workload changes", func(ctx SpecContext) {
		theirs := group.DeepCopy() // It is written into while this spec reads the other.
		writes.whileApplying(group.Name, func() { patch(ctx, theirs, `{"spec":{"queue":"b"}}`) })
		patch(ctx, job,
			`{"metadata":{"annotations":{"kai.scheduler/batch-min-member":"2"},"labels":{"kai.scheduler/queue":"c"}}}`)
		Eventually(podGroup(ctx, group.Name)).Should(HaveField("Spec.MinMember", HaveValue(BeEquivalentTo(2))))
		Expect(podGroup(ctx, group.Name)()).To(HaveField("Spec.Queue", "b"))
	})

	It("keeps labels, annotations and conditions of others", func(ctx SpecContext) {
		patch(ctx, group, `{"metadata":{"labels":{"team":"red"},"annotations":{"note":"hands off"}}}`)
		Expect(api.Status().Patch(ctx, group, client.RawPatch(types.MergePatchType,
			[]byte(`{"status":{"resourcesStatus":{"allocated":{"cpu":"1"}}}}`)))).To(Succeed())
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/batch-min-member":"2"}}}`)
		Eventually(podGroup(ctx, group.Name)).Should(HaveField("Spec.MinMember", HaveValue(BeEquivalentTo(2))))
		found, err := podGroup(ctx, group.Name)()
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Labels).To(HaveKeyWithValue("team", "red"))
		Expect(found.Annotations).To(HaveKeyWithValue("note", "hands off"))
		Expect(found.Status.ResourcesStatus.Allocated).To(HaveLen(1))
	})

	DescribeTable("gets its tree back",
		func(ctx SpecContext, change string) {
			patch(ctx, group, change)
			Expect(group.Spec.DeepCopy()).NotTo(HaveField("SubGroups", BeNil()), "the change was taken")
			tree := scheduling.PodGroupSpec{MinMember: new(int32(3)), Queue: "a", PriorityClassName: "high",
				Preemptibility: scheduling.Preemptible}
			Eventually(podGroup(ctx, group.Name)).Should(HaveField("Spec", Equal(tree)))
			Eventually(podGroup(ctx, group.Name)).Should(
				WithTransform(validity, HaveField("ObservedGeneration", BeNumerically(">", group.Generation))))
			comesToRest(group.Name)
		},
		Entry("from groups that a user adds", `{"spec":{"subGroups":[{"name":"theirs","minMember":1}]}}`),
		Entry("from a constraint and a group that a user adds",
			`{"spec":{"topologyConstraint":{"topology":"network","requiredTopologyLevel":"topology/rack"},"subGroups":[{"name":"theirs","minMember":1}]}}`),
		Entry("from another minimum and a group",
			`{"spec":{"minMember":null,"minSubGroup":1,"subGroups":[{"name":"theirs","minMember":1},{"name":"below","parent":"theirs","minMember":1}]}}`),
	)
})

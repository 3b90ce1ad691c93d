package controller_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// patch changes an object as an administrator does with kubectl.
func patch(ctx context.Context, object client.Object, change string) {
	GinkgoHelper()
	Expect(api.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(change)),
		client.FieldOwner("kubectl-edit"))).To(Succeed())
}

var _ = Describe("A pod of a Job", func() {
	var job *batchv1.Job
	BeforeEach(func(ctx SpecContext) {
		job = create(ctx, newJob("train", map[string]string{kai.AnnotationBatchMinMember: "3"}))
	})

	It("makes the Job's PodGroup, and names it", func(ctx SpecContext) {
		create(ctx, newPod("train-0", job))
		Eventually(podGroupNameOf(ctx, "train-0")).Should(Equal(podGroupOfJob(job)))
		group, err := podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
		Expect(group.Spec).To(Equal(scheduling.PodGroupSpec{MinMember: new(int32(3))}))
		Expect(group.OwnerReferences).To(ConsistOf(HaveField("UID", job.UID)))
		Eventually(podGroup(ctx, group.Name)).Should(WithTransform(validity,
			condition(metav1.ConditionTrue, scheduling.ReasonAccepted, "")))
	})

	It("names a label of another scheduler's group, which is not read", func(ctx SpecContext) {
		pod := newPod("train-0", job)
		pod.Labels["scheduling.x-k8s.io/pod-group"] = "other"
		create(ctx, pod)
		Eventually(eventsOn(ctx, "Job", "train")).Should(ContainElement(
			"OtherGroupUnread: label scheduling.x-k8s.io/pod-group of its pods means another scheduler's group, and is " +
				"not read: they belong to PodGroup " + podGroupOfJob(job)))
		Eventually(podGroupNameOf(ctx, "train-0")).Should(Equal(podGroupOfJob(job)))
	})

	It("has its PodGroup say so when a relation gets a mistake, and when that is mended", func(ctx SpecContext) {
		relation := func(field string) string {
			return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, scheduling.AnnotationRelations,
				fmt.Sprintf(`[{"name":"apart","podsOf":"","topology":"network","level":"rack",%q:1}]`, field))
		}
		patch(ctx, job, relation("maxPerDomain"))
		create(ctx, newPod("train-0", job))
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(HaveField("Annotations",
			HaveKeyWithValue(scheduling.AnnotationRelations, ContainSubstring("maxPerDomain"))))
		patch(ctx, job, relation("maxPerDomian"))
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(WithTransform(validity,
			condition(metav1.ConditionFalse, scheduling.ReasonInvalidOwner, "unknown field")))
		patch(ctx, job, relation("maxPerDomain"))
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(WithTransform(validity,
			HaveField("Message", Not(ContainSubstring("unknown field")))))
	})

	It("shares one PodGroup with all its siblings, which is written once", func(ctx SpecContext) {
		const pods = 50
		patch(ctx, job, `{"metadata":{"labels":{"kai.scheduler/queue":"a"}}}`)
		before := writes.of(memberLists)
		for i := range pods {
			pod := newPod(fmt.Sprintf("train-%d", i), job)
			pod.Labels[kai.LabelQueue] = "a"
			create(ctx, pod)
		}
		for i := range pods {
			Eventually(podGroupNameOf(ctx, fmt.Sprintf("train-%d", i))).Should(Equal(podGroupOfJob(job)))
		}
		Expect(podGroups(ctx)()).To(ConsistOf(podGroupOfJob(job)))
		Expect(writes.of(podGroupOfJob(job))).To(Equal(1))
		Expect(writes.of(podGroupOfJob(job) + "/status")).To(Equal(1))
		Expect(writes.of(memberLists)-before).To(BeNumerically("<", pods/2), "each pod looks at all others")
	})

	It("is written once, as is its PodGroup, however often something happens", func(ctx SpecContext) {
		pod := create(ctx, newPod("train-0", job))
		Eventually(podGroupNameOf(ctx, "train-0")).ShouldNot(BeEmpty())
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(WithTransform(validity, Not(BeNil())))
		group, err := podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
		patch(ctx, pod, `{"metadata":{"labels":{"touched":"yes"}}}`)
		patch(ctx, job, `{"metadata":{"labels":{"touched":"yes"}}}`)
		Consistently(podGroup(ctx, group.Name), "500ms").Should(HaveField("ResourceVersion", group.ResourceVersion))
		seen := &corev1.Pod{}
		Expect(api.Get(ctx, named("train-0"), seen)).To(Succeed())
		Expect(seen.ResourceVersion).To(Equal(pod.ResourceVersion))
		Expect(writes.of(group.Name)).To(Equal(1))
	})

	It("follows the Job's annotations and labels", func(ctx SpecContext) {
		create(ctx, newPod("train-0", job))
		Eventually(podGroupNameOf(ctx, "train-0")).ShouldNot(BeEmpty())
		patch(ctx, job,
			`{"metadata":{"annotations":{"kai.scheduler/batch-min-member":"2"},"labels":{"kai.scheduler/queue":"a"}}}`)
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(And(
			HaveField("Spec.MinMember", HaveValue(BeEquivalentTo(2))), HaveField("Spec.Queue", "a")))
		patch(ctx, job, `{"metadata":{"labels":{"kai.scheduler/queue":null}}}`)
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(And(
			HaveField("Spec.Queue", ""), HaveField("Labels", Not(HaveKey(kai.LabelQueue)))))
	})

	It("leaves an administrator's queue and backoff as they are", func(ctx SpecContext) {
		patch(ctx, job, `{"metadata":{"labels":{"kai.scheduler/queue":"a"}}}`)
		create(ctx, newPod("train-0", job))
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(HaveField("Spec.Queue", "a"))
		group, err := podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
		patch(ctx, group, `{"spec":{"queue":"b","schedulingBackoff":-1}}`)
		patch(ctx, job,
			`{"metadata":{"annotations":{"kai.scheduler/batch-min-member":"4"},"labels":{"kai.scheduler/queue":"c"}}}`)
		Eventually(podGroup(ctx, group.Name)).Should(HaveField("Spec.MinMember", HaveValue(BeEquivalentTo(4))))
		Expect(podGroup(ctx, group.Name)()).To(And(
			HaveField("Spec.Queue", "b"), HaveField("Spec.SchedulingBackoff", HaveValue(BeEquivalentTo(-1)))))
	})

	It("gets its PodGroup back when a user changes or deletes it", func(ctx SpecContext) {
		create(ctx, newPod("train-0", job))
		Eventually(podGroup(ctx, podGroupOfJob(job))).ShouldNot(BeNil())
		group, err := podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
		patch(ctx, group, `{"spec":{"minMember":1}}`)
		Eventually(podGroup(ctx, group.Name)).Should(HaveField("Spec.MinMember", HaveValue(BeEquivalentTo(3))))
		Expect(api.Delete(ctx, group)).To(Succeed())
		Eventually(podGroup(ctx, group.Name)).Should(HaveField("UID", Not(Equal(group.UID))))
	})

	It("gets a new PodGroup when the Job is made again under its name", func(ctx SpecContext) {
		create(ctx, newPod("train-0", job))
		Eventually(podGroup(ctx, podGroupOfJob(job))).ShouldNot(BeNil())
		Expect(api.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		again := create(ctx, newJob("train", nil))
		create(ctx, newPod("train-1", again))
		Eventually(podGroupNameOf(ctx, "train-1")).Should(Equal(podGroupOfJob(again)))
		Expect(again.UID).NotTo(Equal(job.UID))
	})
})

var _ = Describe("A Job with a topology constraint", func() {
	It("is in doubt until the Topology exists", func(ctx SpecContext) {
		topology := newTopology(namespace, "topology/zone", "topology/rack")
		job := create(ctx, newJob("train", map[string]string{
			kai.AnnotationTopology:         topology.Name,
			kai.AnnotationTopologyRequired: "topology/rack",
		}))
		create(ctx, newPod("train-0", job))
		const reason = "metadata.annotations[kai.scheduler/topology]: Invalid value"
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(WithTransform(validity,
			condition(metav1.ConditionFalse, scheduling.ReasonInvalidOwner, reason)))
		Eventually(eventsOn(ctx, "Job", "train")).Should(ContainElement(ContainSubstring(reason)))
		Expect(podGroup(ctx, podGroupOfJob(job))()).To(HaveField("Spec.TopologyConstraint", HaveValue(Equal(
			scheduling.TopologyConstraint{Topology: topology.Name, RequiredTopologyLevel: "topology/rack"}))))
		Expect(api.Create(ctx, topology)).To(Succeed())
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(WithTransform(validity,
			condition(metav1.ConditionTrue, scheduling.ReasonAccepted, "")))
	})
})

var _ = Describe("A Job whose wishes no PodGroup can hold", func() {
	It("is warned of it", func(ctx SpecContext) {
		job := create(ctx, newJob("train", map[string]string{
			kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: strings.Repeat("x", 400),
		}))
		create(ctx, newPod("train-0", job))
		Eventually(eventsOn(ctx, "Job", "train")).Should(
			ContainElement(ContainSubstring("requiredTopologyLevel: Too long")))
		Expect(podGroups(ctx)()).To(BeEmpty())
	})
})

var _ = Describe("A pod", func() {
	It("without an owner is a group of its own", func(ctx SpecContext) {
		pod := create(ctx, newPod("alone", nil))
		Eventually(podGroupNameOf(ctx, "alone")).Should(Equal("pg-alone-" + string(pod.UID)))
		Eventually(podGroup(ctx, "pg-alone-"+string(pod.UID))).Should(
			HaveField("OwnerReferences", ConsistOf(HaveField("Kind", "Pod"))))
	})

	It("of another pod shares that one's group", func(ctx SpecContext) {
		driver := create(ctx, newPod("driver", nil))
		create(ctx, newPod("executor", driver))
		for _, name := range []string{"driver", "executor"} {
			Eventually(podGroupNameOf(ctx, name)).Should(Equal("pg-driver-" + string(driver.UID)))
		}
		patch(ctx, driver, `{"metadata":{"labels":{"kai.scheduler/queue":"a"}}}`)
		Eventually(podGroup(ctx, "pg-driver-"+string(driver.UID))).Should(HaveField("Spec.Queue", "a"))
	})

	It("of a kind that is not installed is grouped by its owner's name", func(ctx SpecContext) {
		pod := newPod("strange", nil)
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "example.com/v1", Kind: "Fleet", Name: "north", UID: "42", Controller: new(true)},
		}
		create(ctx, pod)
		Eventually(podGroupNameOf(ctx, "strange")).Should(Equal("pg-north-42"))
		const reason = "Fleet north cannot be read, so that what it says and its own owners do not count: " +
			"the cluster has no kind Fleet of example.com/v1: install it"
		Eventually(eventsOn(ctx, "Pod", "strange")).Should(ContainElement(ContainSubstring(reason)))
		Eventually(podGroup(ctx, "pg-north-42")).Should(WithTransform(validity,
			condition(metav1.ConditionFalse, scheduling.ReasonInvalidOwner, reason)))
	})

	DescribeTable("is left alone",
		func(ctx SpecContext, change func(*corev1.Pod)) {
			pod := newPod("pod", create(ctx, newJob("train", nil)))
			change(pod)
			create(ctx, pod)
			before := pod.ResourceVersion
			Consistently(podGroups(ctx), "300ms").Should(BeEmpty())
			Expect(api.Get(ctx, named("pod"), pod)).To(Succeed())
			Expect(pod.ResourceVersion).To(Equal(before))
		},
		Entry("if it asks for another scheduler",
			func(pod *corev1.Pod) { pod.Spec.SchedulerName = "default-scheduler" }),
		Entry("if it says so",
			func(pod *corev1.Pod) { pod.Annotations = map[string]string{kai.AnnotationSkipPodGrouper: "true"} }),
		Entry("if a user put it into a PodGroup", func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: "sample2"}
		}),
		Entry("if its owner is gone", func(pod *corev1.Pod) { pod.OwnerReferences[0].Name = "gone" }),
	)

	It("is left alone if an owner says so, until the owner says so no more", func(ctx SpecContext) {
		job := create(ctx, newJob("train", map[string]string{kai.AnnotationSkipPodGrouper: "true"}))
		create(ctx, newPod("train-0", job))
		Eventually(func() (map[string]string, error) {
			pod := &corev1.Pod{}
			err := api.Get(ctx, named("train-0"), pod)
			return pod.Annotations, err
		}).Should(HaveKeyWithValue(kai.AnnotationLeftAlone, "true"), "the scheduler waits for the pod to be grouped")
		Consistently(podGroups(ctx), "300ms").Should(BeEmpty())
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/skip-podgrouper":null}}}`)
		Eventually(podGroupNameOf(ctx, "train-0")).Should(Equal(podGroupOfJob(job)))
	})

	It("below two owners follows what the upper one says", func(ctx SpecContext) {
		cron := create(ctx, &batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Name: "nightly", Labels: map[string]string{kai.LabelQueue: "night"}},
			Spec: batchv1.CronJobSpec{Schedule: "0 0 * * *",
				JobTemplate: batchv1.JobTemplateSpec{Spec: newJob("", nil).Spec}},
		})
		job := newJob("nightly-1", nil)
		job.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob")),
		}
		create(ctx, job)
		create(ctx, newPod("nightly-1-0", job))
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(HaveField("Spec.Queue", "night"))
		patch(ctx, cron, `{"metadata":{"labels":{"kai.scheduler/queue":"day"}}}`)
		Eventually(podGroup(ctx, podGroupOfJob(job))).Should(HaveField("Spec.Queue", "day"))
	})
})

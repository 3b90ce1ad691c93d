package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// epoch is a time in nanoseconds, as Grove has it in the names and labels of PodGangs since alpha.12.
const epoch = "1756100000000000000"

// newEpochGang is a PodGang with labels as Grove writes them since alpha.12. Its group is the clique workers.
func newEpochGang(name, role string, pods ...string) *grovescheduler.PodGang {
	gang := newPodGang(name, "", pods...)
	gang.Spec.PodGroups[0].Name = "set-0-workers"
	gang.Labels = map[string]string{
		grove.LabelEpoch: epoch, "grove.io/podgang-role": role, "grove.io/scheduler-name": kai.SchedulerName,
		grove.LabelPodCliqueSetReplicaIndex: "0", grove.LabelPartOf: "set",
	}
	return gang
}

func newEpochPod(name, gang string) *corev1.Pod {
	pod := newGangPod(name, gang)
	pod.Labels[grove.LabelPodClique] = "set-0-workers"
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "grove.io/podgang-pending-creation"}}
	return pod
}

func liveGang(ctx SpecContext, name string) *grovescheduler.PodGang {
	GinkgoHelper()
	gang := &grovescheduler.PodGang{}
	Expect(api.Get(ctx, named(name), gang)).To(Succeed())
	return gang
}

var _ = Describe("A PodGang of Grove since alpha.12", func() {
	DescribeTable("is grouped by its name, and stays as Grove wrote it but for its score",
		func(ctx SpecContext, name, role string) {
			gang := create(ctx, newEpochGang(name, role, "pod"))
			pod := create(ctx, newEpochPod("pod", name))
			Eventually(podGroupNameOf(ctx, "pod")).Should(Equal(name))
			patchStatus(ctx, gang, `{"status":{"conditions":[{"type":"Scheduled","status":"False","reason":"Few",
				"message":"by Grove","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
			changeStatus(ctx, name, func(status *scheduling.PodGroupStatus) {
				meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: scheduling.ConditionScheduled,
					Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced, Message: "every pod has a node"})
				status.Placement = &scheduling.PlacementStatus{Domains: 1, Fewest: scheduling.FewestYes}
			})
			Eventually(func() *float64 { return liveGang(ctx, name).Status.PlacementScore }).Should(HaveValue(Equal(1.0)))
			after := liveGang(ctx, name)
			Expect(after.Status.Conditions).To(ConsistOf(HaveField("Message", "by Grove")))
			Expect(after.Spec).To(Equal(gang.Spec))
			Expect(after.Labels).To(Equal(gang.Labels))
			Expect(after.Annotations).To(Equal(gang.Annotations))
			Expect(after.Finalizers).To(Equal(gang.Finalizers))
			grouped := &corev1.Pod{}
			Expect(api.Get(ctx, named("pod"), grouped)).To(Succeed())
			Expect(grouped.Spec).To(Equal(pod.Spec), "gates are Grove's, too")
		},
		Entry("anchor", "set-0-"+epoch, "Anchor"),
		Entry("tail", "set-0-"+epoch+"-workers-1", "Tail"),
		Entry("scaled out", "set-0-"+epoch+"-workers-2", "ScaleOut"),
	)

	// Grove relabels the pods, deletes the earlier PodGang and makes the new one, in this order.
	It("takes the pods of an earlier one of another name, which go on running", func(ctx SpecContext) {
		set := create(ctx, newSet("set"))
		legacy := newEpochGang("set-0", "", "a", "b")
		legacy.Labels, legacy.OwnerReferences = nil, controlledBy(set, grove.GroupVersion.WithKind("PodCliqueSet"))
		create(ctx, legacy)
		pods := []*corev1.Pod{create(ctx, newEpochPod("a", "set-0")), create(ctx, newEpochPod("b", "set-0"))}
		for _, pod := range pods {
			Eventually(podGroupNameOf(ctx, pod.Name)).Should(Equal("set-0"))
		}
		renamed := "set-0-" + epoch
		for _, pod := range pods {
			patch(ctx, pod, `{"metadata":{"labels":{"grove.io/podgang":"`+renamed+`"}}}`)
		}
		Expect(api.Delete(ctx, legacy)).To(Succeed())
		Consistently(podGroups(ctx)).WithTimeout(300*time.Millisecond).Should(ConsistOf("set-0"), "pods name it")
		next := newEpochGang(renamed, "Anchor", "a", "b")
		next.OwnerReferences = controlledBy(set, grove.GroupVersion.WithKind("PodCliqueSet"))
		create(ctx, next)
		for _, pod := range pods {
			Eventually(podGroupNameOf(ctx, pod.Name)).Should(Equal(renamed))
			moved := &corev1.Pod{}
			Expect(api.Get(ctx, named(pod.Name), moved)).To(Succeed())
			Expect(moved).To(And(HaveField("UID", pod.UID), HaveField("DeletionTimestamp", BeNil())))
			Expect(moved.Labels).To(HaveKeyWithValue(kai.LabelSubGroupName, "set-0-workers"))
		}
		Eventually(podGroups(ctx)).Should(ConsistOf(renamed), "no pod names the earlier PodGroup")
	})

	It("may have a minimum of no pods once it is placed", func(ctx SpecContext) {
		gang := create(ctx, newEpochGang("set-0-"+epoch, "Anchor"))
		Eventually(podGroup(ctx, gang.Name)).ShouldNot(BeNil())
		patch(ctx, gang, `{"spec":{"podgroups":[{"name":"set-0-workers","minReplicas":0,"podReferences":[]}]}}`)
		Eventually(podGroup(ctx, gang.Name)).Should(HaveField("Spec.SubGroups",
			ConsistOf(HaveField("MinMember", HaveValue(BeZero())))))
	})

	// With its profile for KAI, Grove makes the PodGroups and names them in the pods itself.
	It("is left alone if Grove groups its pods itself, also pods that an earlier one has left", func(ctx SpecContext) {
		create(ctx, newEpochGang("set-0", "", "a"))
		pod := create(ctx, newEpochPod("a", "set-0"))
		Eventually(podGroupNameOf(ctx, "a")).Should(Equal("set-0"))
		next := newEpochGang("set-0-"+epoch, "Anchor", "a")
		next.Annotations = map[string]string{kai.AnnotationSkipPodGrouper: "true"}
		create(ctx, next)
		patch(ctx, pod, `{"metadata":{"labels":{"grove.io/podgang":"`+next.Name+`"}}}`)
		Eventually(podGroupNameOf(ctx, "a")).Should(BeEmpty())
		patch(ctx, pod, `{"metadata":{"annotations":{"pod-group-name":"theirs"}}}`)
		Consistently(podGroupNameOf(ctx, "a")).WithTimeout(300 * time.Millisecond).Should(Equal("theirs"))
		Expect(podGroups(ctx)()).NotTo(ContainElement(next.Name))
	})
})

// newSet is a PodCliqueSet, a kind that the pod grouper reads by its metadata alone.
func newSet(name string) *unstructured.Unstructured {
	clique := map[string]any{"name": "workers", "spec": map[string]any{"podSpec": map[string]any{
		"containers": []any{map[string]any{"name": "worker", "image": "worker"}}}}}
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"template": map[string]any{"cliques": []any{clique}}}}}
	set.SetGroupVersionKind(grove.GroupVersion.WithKind("PodCliqueSet"))
	set.SetName(name)
	return set
}

func patchStatus(ctx SpecContext, object client.Object, body string) {
	GinkgoHelper()
	Expect(api.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(body)))).To(Succeed())
}

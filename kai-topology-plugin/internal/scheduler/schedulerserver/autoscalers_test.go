package schedulerserver_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// asksForNodes reports whether cluster autoscalers add nodes for a pod: by the fields that cluster-autoscaler 1.36.1
// and Karpenter 1.14.1 read, according to their sources.
func asksForNodes(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && pod.Status.NominatedNodeName == "" &&
		why(pod) == corev1.PodReasonUnschedulable
}

// why returns the reason of a pod's condition that it has no node.
func why(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Reason
		}
	}
	return ""
}

// askedFor returns, by the reasons of pods, whether they ask for nodes.
func askedFor(namespace, selector string) func() map[string]bool {
	return func() map[string]bool {
		reasons := map[string]bool{}
		for _, pod := range podsOf(namespace, selector) {
			reasons[why(&pod)] = asksForNodes(&pod)
		}
		return reasons
	}
}

func nodesNeeded(namespace, name string) func() string {
	return func() string {
		podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		return podGroup.Annotations[scheduling.AnnotationNodesNeeded]
	}
}

var _ = Describe("cluster autoscalers", Ordered, ContinueOnFailure, func() {
	var namespace string

	BeforeAll(func() { startScheduler() })

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	It("are told which nodes a gang needs, until it has them", func() {
		givenRack("z1", "r1", 2, 2)
		givenPodGroup(namespace, "wide", needing(3, required(rackLevel)))
		givenPods(namespace, "wide", "", 3, 2)
		Eventually(nodesNeeded(namespace, "wide")).Should(MatchJSON(`[{"count": 1, "like": "z1-r1-0",
			"resources": {"example.com/gpu": "2"}, "level": "topology/rack",
			"domain": {"topology/zone": "z1", "topology/rack": "r1"}}]`))
		Eventually(scheduled(namespace, "wide")).Should(And(withReason(scheduling.ReasonInfeasible),
			HaveField("Message", HaveSuffix("; it would fit if you add 1 node like z1-r1-0 to rack z1/r1"))))
		Eventually(askedFor(namespace, gangOf("wide"))).Should(Equal(map[string]bool{corev1.PodReasonUnschedulable: true}))

		givenNode("z1", "r1", 2, 2)
		eventuallyBound(namespace, gangOf("wide"), 3)
		Eventually(nodesNeeded(namespace, "wide")).Should(BeEmpty())
	})

	It("add none for pods behind gates, nor for gangs that lack pods or are not to be marked", func() {
		givenRack("z1", "r1", 1, 2)
		create(pod(namespace, "missing", "", "missing-0", 1))
		unnamed := pod(namespace, "", "", "unnamed-0", 1)
		unnamed.Labels = map[string]string{"gang": "unnamed", grove.LabelPodGang: "unnamed"}
		create(unnamed)
		gated := pod(namespace, "gated", "", "gated-0", 4)
		gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "grove.io/podgang-pending-creation"}}
		givenPodGroup(namespace, "gated", needing(1, nil))
		create(gated)
		givenPodGroup(namespace, "unmarked",
			scheduling.PodGroupSpec{MinMember: ptr.To[int32](2), MarkUnschedulable: ptr.To(false)})
		givenPods(namespace, "unmarked", "", 2, 2)
		Eventually(askedFor(namespace, gangOf("unmarked"))).Should(
			Equal(map[string]bool{scheduling.PodReasonWaitingForGang: false}))
		Eventually(askedFor(namespace, gangOf("gated"))).Should(
			Equal(map[string]bool{corev1.PodReasonSchedulingGated: false}))
		givenPodGroup(namespace, "lacking", needing(2, nil))
		givenPods(namespace, "lacking", "", 1, 1)
		for gang, sentence := range map[string]string{
			"lacking": "waiting for pods to be created: the PodGroup has 1 of 2",
			"missing": "waiting for PodGroup missing to be created",
			"unnamed": "waiting for the pod grouper to name the pod's PodGroup in annotation pod-group-name",
		} {
			Eventually(askedFor(namespace, gangOf(gang))).Should(
				Equal(map[string]bool{scheduling.PodReasonWaitingForGang: false}))
			Expect(podsOf(namespace, gangOf(gang))[0].Status.Conditions).To(ContainElement(HaveField("Message", sentence)))
		}
	})

	It("add none while room is being made, at any moment", func() {
		givenPriorities()
		givenRack("z1", "r1", 2, 2)
		givenGang(namespace, "cheap", low, 4, 4)
		eventuallyBound(namespace, gangOf("cheap"), 4)
		watch, err := kube.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		defer watch.Stop()
		givenGang(namespace, "boss", high, 4, 4)
		Eventually(leaving(namespace, gangOf("cheap"))).Should(HaveLen(4))
		terminate(namespace, "cheap-0", "cheap-1", "cheap-2", "cheap-3")
		eventuallyBound(namespace, gangOf("boss"), 4)

		begun, bound := false, map[string]bool{}
		for len(bound) < 4 { // In the order in which the API server has seen it.
			pod := (<-watch.ResultChan()).Object.(*corev1.Pod)
			boss := pod.Labels["gang"] == "boss"
			begun = begun || !boss && pod.DeletionTimestamp != nil
			Expect(begun && boss && asksForNodes(pod)).To(BeFalse(), "%s asks for nodes: %+v", pod.Name, pod.Status)
			if boss && pod.Spec.NodeName != "" {
				bound[pod.Name] = true
			}
		}
		Expect(begun).To(BeTrue())
	})
})

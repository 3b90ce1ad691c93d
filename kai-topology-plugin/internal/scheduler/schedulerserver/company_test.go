package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// givenRelated creates a PodGroup of one leaf that shares a zone with all others of the same base gang.
func givenRelated(namespace, base, name string, minimum int32, constraint *scheduling.TopologyConstraint) {
	GinkgoHelper()
	podGroup := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{
			scheduling.AnnotationBaseGang:       base,
			scheduling.AnnotationSharedTopology: topologyName,
			scheduling.AnnotationSharedRequired: zoneLevel,
		}}}
	podGroup.Spec = needing(minimum, constraint)
	_, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Create(ctx, podGroup, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// givenGatedPods creates pods of a gang of one leaf as Grove does: held until it lets them go.
func givenGatedPods(namespace, gang string, count int, gpus int64) {
	GinkgoHelper()
	for i := range count {
		gated := pod(namespace, gang, "", fmt.Sprintf("%s-%d", gang, i), gpus)
		gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: grove.SchedulingGatePodGangPending}}
		create(gated)
	}
}

// ungate lets the pods of a gang go.
func ungate(namespace, gang string) {
	GinkgoHelper()
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: gangOf(gang)})
	Expect(err).NotTo(HaveOccurred())
	for _, gated := range pods.Items {
		_, err := kube.CoreV1().Pods(namespace).Patch(ctx, gated.Name, types.MergePatchType,
			[]byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

// toldTo returns what the scheduler says to a pod that has no node.
func toldTo(namespace, name string) func() string {
	return func() string {
		found, err := kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, condition := range found.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				return condition.Message
			}
		}
		return ""
	}
}

var _ = Describe("gangs that share a zone", Ordered, ContinueOnFailure, func() {
	var namespace string

	BeforeAll(func() { startScheduler() })

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	It("join the one that is there, however empty another zone is, and wait for room in it", func() {
		givenRack("z1", "r1", 2, 2)
		givenRack("z1", "r2", 2, 2)
		givenRack("z2", "r1", 8, 8)
		other := pod(namespace, "", "", "other", 1)
		other.Spec.NodeSelector = map[string]string{zoneLevel: "z1"}
		create(other)
		eventuallyBound(namespace, gangOf(""), 1)
		givenRelated(namespace, "app-0", "app-0", 2, required(zoneLevel))
		givenPods(namespace, "app-0", "", 2, 2)
		home := eventuallyBound(namespace, gangOf("app-0"), 2).domains(zoneLevel)
		Expect(home).To(Equal([]string{"/z1"}))

		givenRelated(namespace, "app-0", "app-0-w-0", 1, required(rackLevel))
		givenPods(namespace, "app-0-w-0", "", 1, 2)
		Expect(eventuallyBound(namespace, gangOf("app-0-w-0"), 1).domains(zoneLevel)).To(Equal(home))

		givenRelated(namespace, "app-0", "app-0-w-1", 1, required(rackLevel))
		givenPods(namespace, "app-0-w-1", "", 1, 2)
		Eventually(scheduled(namespace, "app-0-w-1")).Should(And(withReason(scheduling.ReasonInfeasible),
			HaveField("Message", ContainSubstring("the gang must join gang app-0 in topology/zone z1"))))

		By("making room")
		givenRack("z1", "r3", 1, 2)
		Expect(eventuallyBound(namespace, gangOf("app-0-w-1"), 1).domains(zoneLevel)).To(Equal(home))
	})

	It("keep to it when the base gang is placed anew", func() {
		givenRack("z1", "r1", 3, 2)
		givenRelated(namespace, "app-0", "app-0", 2, required(zoneLevel))
		givenPods(namespace, "app-0", "", 2, 2)
		eventuallyBound(namespace, gangOf("app-0"), 2)
		givenRelated(namespace, "app-0", "app-0-w-0", 1, nil)
		givenPods(namespace, "app-0-w-0", "", 1, 2)
		eventuallyBound(namespace, gangOf("app-0-w-0"), 1)

		givenRack("z2", "r1", 2, 2)
		deletePods(namespace, gangOf("app-0"))
		givenPods(namespace, "app-0", "", 2, 2)
		Expect(eventuallyBound(namespace, gangOf("app-0"), 2).domains(zoneLevel)).To(Equal([]string{"/z1"}))
	})

	It("are free to go elsewhere together once none of them stands", func() {
		givenRack("z1", "r1", 2, 2)
		givenRelated(namespace, "app-0", "app-0", 1, required(zoneLevel))
		givenPods(namespace, "app-0", "", 1, 2)
		eventuallyBound(namespace, gangOf("app-0"), 1)
		givenRack("z2", "r1", 4, 2)
		givenRelated(namespace, "app-0", "app-0-w-0", 3, required(rackLevel))
		givenPods(namespace, "app-0-w-0", "", 3, 2)
		Eventually(scheduled(namespace, "app-0-w-0")).Should(withReason(scheduling.ReasonInfeasible))

		deletePods(namespace, gangOf("app-0"))
		Expect(eventuallyBound(namespace, gangOf("app-0-w-0"), 3).domains(zoneLevel)).To(Equal([]string{"/z2"}))
		givenPods(namespace, "app-0", "", 1, 2)
		Expect(eventuallyBound(namespace, gangOf("app-0"), 1).domains(zoneLevel)).To(Equal([]string{"/z2"}))
	})

	It("find each other when the annotations come later", func() {
		givenRack("z1", "r1", 1, 2)
		givenRelated(namespace, "app-0", "app-0", 1, required(zoneLevel))
		givenPods(namespace, "app-0", "", 1, 1)
		eventuallyBound(namespace, gangOf("app-0"), 1)
		givenRack("z2", "r1", 2, 2)
		givenRelated(namespace, "app-0", "late", 2, required(rackLevel))
		givenPods(namespace, "late", "", 2, 2)
		Eventually(scheduled(namespace, "late")).Should(withReason(scheduling.ReasonInfeasible))

		patchPodGroup(namespace, "late", `{"metadata":{"annotations":null}}`)
		Expect(eventuallyBound(namespace, gangOf("late"), 2).domains(zoneLevel)).To(Equal([]string{"/z2"}))
	})

	It("go where those have room who will follow, and nobody else takes it", func() {
		givenRack("z1", "r1", 2, 2)
		givenRack("z2", "r1", 2, 2)
		givenRack("z2", "r2", 2, 2)
		eventuallyOpen("z2-r2-1")
		givenRelated(namespace, "app-0", "app-0-w-0", 2, required(rackLevel))
		givenGatedPods(namespace, "app-0-w-0", 2, 2)
		givenRelated(namespace, "app-0", "app-0", 2, required(zoneLevel))
		givenPods(namespace, "app-0", "", 2, 2)
		Expect(eventuallyBound(namespace, gangOf("app-0"), 2).domains(zoneLevel)).To(Equal([]string{"/z2"}),
			"z1 would be fuller with it")

		givenPodGroup(namespace, "passer-by", needing(1, nil))
		inZone := pod(namespace, "passer-by", "", "passer-by", 2)
		inZone.Spec.NodeSelector = map[string]string{zoneLevel: "z2"}
		create(inZone)
		Eventually(scheduled(namespace, "passer-by")).Should(withReason(scheduling.ReasonInfeasible))
		plain := pod(namespace, "", "", "plain", 2)
		plain.Spec.NodeSelector = map[string]string{zoneLevel: "z2"}
		create(plain)
		Eventually(toldTo(namespace, "plain")).Should(ContainSubstring("reserved for a gang that is being placed"))

		ungate(namespace, "app-0-w-0")
		Expect(eventuallyBound(namespace, gangOf("app-0-w-0"), 2).domains(zoneLevel)).To(Equal([]string{"/z2"}))
	})
})

package schedulerserver_test

import (
	"fmt"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// givenExpecting creates a PodGroup that may start with any pod, and expects that many pods.
func givenExpecting(namespace, name string, pods int32, constraint *scheduling.TopologyConstraint) {
	GinkgoHelper()
	_, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Create(ctx, &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{
			scheduling.AnnotationExpectedPods: podgrouptree.Expected{"": pods}.String(),
		}},
		Spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](1), TopologyConstraint: constraint},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

var _ = Describe("a gang whose pods come one by one", func() {
	var (
		namespace string
		scheduler *exec.Cmd
	)

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
		for _, rack := range []string{"r1", "r2", "r3"} {
			givenRack("z1", rack, 1, 1)
		}
		givenRack("z1", "roomy", 4, 1)
		scheduler = startScheduler()
	})

	// each waits until the pods that there are have nodes before it creates the next one.
	each := func(from, to int) {
		GinkgoHelper()
		for i := from; i < to; i++ {
			create(pod(namespace, "slow", "", fmt.Sprintf("slow-%d", i), 1))
			Expect(eventuallyBound(namespace, gangOf("slow"), i+1).domains(rackLevel)).To(Equal([]string{"/roomy"}))
		}
	}

	It("stands in one rack, also if the scheduler dies in between", func() {
		givenExpecting(namespace, "slow", 4, required(rackLevel))
		each(0, 2)
		kill(scheduler)
		startScheduler()
		each(2, 4)
	})

	It("leaves the room to others if its pods do not come", func() {
		givenExpecting(namespace, "slow", 4, required(rackLevel))
		each(0, 1)
		givenPodGroup(namespace, "rival",
			scheduling.PodGroupSpec{MinMember: ptr.To[int32](3), TopologyConstraint: required(rackLevel)})
		givenPods(namespace, "rival", "", 3, 1)
		eventuallyBound(namespace, gangOf("rival"), 3)
		Expect(placementOf(namespace, gangOf("slow"))).To(HaveLen(1))

		By("the others coming after all")
		create(pod(namespace, "slow", "", "slow-late", 1))
		Eventually(scheduled(namespace, "slow")).Should(And(withReason(scheduling.ReasonPlaced),
			HaveField("Message", ContainSubstring("topology/rack z1/roomy has no room for more"))))
		deletePods(namespace, gangOf("rival"))
		Expect(eventuallyBound(namespace, gangOf("slow"), 2).domains(rackLevel)).To(Equal([]string{"/roomy"}))
	})

	It("has more pods than were expected wait where it stands", func() {
		givenExpecting(namespace, "slow", 4, required(rackLevel))
		each(0, 4)
		create(pod(namespace, "slow", "", "slow-4", 1))
		Eventually(scheduled(namespace, "slow")).Should(And(withReason(scheduling.ReasonPlaced),
			HaveField("Message", ContainSubstring("topology/rack z1/roomy has no room for more"))))
		Expect(placementOf(namespace, gangOf("slow"))).To(HaveLen(4))
	})
})

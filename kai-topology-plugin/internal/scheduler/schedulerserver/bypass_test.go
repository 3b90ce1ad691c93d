package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a big gang that waits among small ones", func() {
	var namespace string

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	// small creates a gang of one pod that fills a node, in any zone or in the given one.
	small := func(name, zone string) {
		givenPodGroup(namespace, name, needing(1, nil))
		made := pod(namespace, name, "", name, 2)
		if zone != "" {
			made.Spec.NodeSelector = map[string]string{zoneLevel: zone}
		}
		create(made)
	}

	It("is overtaken by a few, and then its nodes are reserved for it, while others go on elsewhere", func() {
		scheduler := startScheduler()
		givenRack("z1", "r1", 2, 2)
		small("first-0", "z1")
		small("first-1", "z1")
		eventuallyBound(namespace, "", 2)
		givenPodGroup(namespace, "big", needing(2, required(zoneLevel)))
		givenPods(namespace, "big", "", 2, 2)
		Eventually(scheduled(namespace, "big")).Should(withReason(scheduling.ReasonInfeasible))

		By("letting small gangs take what becomes free, one after the other")
		for i := range gangstate.MaxOvertakes {
			name := fmt.Sprintf("passer-%d", i)
			small(name, "z1")
			Eventually(scheduled(namespace, name)).Should(withReason(scheduling.ReasonInfeasible))
			leaver := "first-0"
			if i > 0 {
				leaver = fmt.Sprintf("passer-%d", i-1)
			}
			deletePods(namespace, gangOf(leaver))
			eventuallyBound(namespace, gangOf(name), 1)
		}
		By("having the other node left, so that nothing but gangs that came later stand in the way")
		last := gangOf(fmt.Sprintf("passer-%d", gangstate.MaxOvertakes-1))
		small("kept-out", "z1")
		Eventually(scheduled(namespace, "kept-out")).Should(withReason(scheduling.ReasonInfeasible))
		deletePods(namespace, gangOf("first-1"))
		Eventually(scheduled(namespace, "kept-out")).Should(And(withReason(scheduling.ReasonWaiting),
			HaveField("Message", ContainSubstring("is reserved for gang "+namespace+"/big"))))
		kept := func() []scheduling.ReservationStatus {
			podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, "big", metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			return podGroup.Status.Reservations
		}
		Eventually(kept).Should(ConsistOf(And(HaveField("Reason", scheduling.ReservationOvertaken),
			HaveField("Nodes", ConsistOf("z1-r1-0", "z1-r1-1")), HaveField("Until", Not(BeNil())))))

		By("having room elsewhere")
		givenRack("z2", "r1", 1, 2)
		small("elsewhere", "z2")
		eventuallyBound(namespace, gangOf("elsewhere"), 1)
		Expect(placementOf(namespace, gangOf("kept-out"))).To(BeEmpty())

		By("starting anew, after which the small gang that stands counts for one")
		kill(scheduler)
		startScheduler()

		By("making room for the big one")
		eventuallyBound(namespace, gangOf("kept-out"), 1)
		deletePods(namespace, gangOf("kept-out"))
		deletePods(namespace, last)
		Expect(eventuallyBound(namespace, gangOf("big"), 2).domains(zoneLevel)).To(Equal([]string{"/z1"}))
		Eventually(kept).Should(BeEmpty())
	})
})

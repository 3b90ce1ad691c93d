package schedulerserver_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a pod that leaves a full cluster", func() {
	var (
		namespace string
		owner     *replacing
	)

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
		givenPriorities()
		givenRack("z1", "r1", 2, 2)
		_, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Create(ctx, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stands",
				Annotations: map[string]string{scheduling.AnnotationSeatHold: "1h"}},
			Spec: scheduling.PodGroupSpec{Preemptibility: scheduling.NonPreemptible,
				SubGroups: []scheduling.SubGroup{leaf("w", 2, required(rackLevel))}},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		owner = &replacing{namespace: namespace, gang: "stands", leaves: map[string]int{"w": 2}}
	})

	another := func(name, priority string) {
		GinkgoHelper()
		givenPodGroup(namespace, name, scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)})
		create(important(priority, pod(namespace, name, "", name+"-0", 2)))
	}

	It("leaves its seat to its successor, also under the next scheduler", func() {
		scheduler := startScheduler()
		owner.once(ctx)
		eventuallyBound(namespace, gangOf("stands"), 2)
		deletePod(namespace, "stands-w-0")
		Eventually(seatsOf(namespace, "stands")).Should(Equal(1))
		kill(scheduler)
		another("waits", "")
		startScheduler()
		Eventually(scheduled(namespace, "waits")).Should(withReason(scheduling.ReasonInfeasible))
		Expect(placementOf(namespace, gangOf("waits"))).To(BeEmpty())
		owner.once(ctx)
		eventuallyBound(namespace, gangOf("stands"), 2)
		Eventually(seatsOf(namespace, "stands")).Should(BeZero())
		Expect(placementOf(namespace, gangOf("waits"))).To(BeEmpty())
	})

	It("loses its seat to a gang of higher priority, of which an event tells", func() {
		startScheduler()
		owner.once(ctx)
		eventuallyBound(namespace, gangOf("stands"), 2)
		deletePod(namespace, "stands-w-0")
		Eventually(seatsOf(namespace, "stands")).Should(Equal(1))
		another("urgent", high)
		eventuallyBound(namespace, gangOf("urgent"), 1)
		Eventually(func() []eventsv1.Event { return eventsOn(namespace, "PodGroup", "stands") }).Should(ContainElement(
			And(HaveField("Reason", "SeatTaken"),
				HaveField("Note", ContainSubstring("goes to PodGroup "+namespace+"/urgent, which has a higher priority")))))
		Eventually(seatsOf(namespace, "stands")).Should(BeZero())
	})
})

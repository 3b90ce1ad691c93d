package schedulerserver_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a pod that leaves a full cluster", func() {
	It("leaves its seat to its successor, also under the next scheduler", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 2)
		_, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Create(ctx, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stands",
				Annotations: map[string]string{scheduling.AnnotationSeatHold: "1h"}},
			Spec: scheduling.PodGroupSpec{Preemptibility: scheduling.NonPreemptible,
				SubGroups: []scheduling.SubGroup{leaf("w", 2, required(rackLevel))}},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		owner := &replacing{namespace: namespace, gang: "stands", leaves: map[string]int{"w": 2}}
		scheduler := startScheduler()
		owner.once(ctx)
		eventuallyBound(namespace, gangOf("stands"), 2)
		deletePod(namespace, "stands-w-0")
		Eventually(seatsOf(namespace, "stands")).Should(Equal(1))
		kill(scheduler)
		givenPodGroup(namespace, "waits", needing(1, nil))
		create(pod(namespace, "waits", "", "waits-0", 2))
		startScheduler()
		Eventually(scheduled(namespace, "waits")).Should(withReason(scheduling.ReasonInfeasible))
		Expect(placementOf(namespace, gangOf("waits"))).To(BeEmpty())
		owner.once(ctx)
		eventuallyBound(namespace, gangOf("stands"), 2)
		Eventually(seatsOf(namespace, "stands")).Should(BeZero())
		Expect(placementOf(namespace, gangOf("waits"))).To(BeEmpty())
	})
})

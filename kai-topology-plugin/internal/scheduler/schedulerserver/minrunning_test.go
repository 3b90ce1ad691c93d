package schedulerserver_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a gang that goes on with fewer pods than it needs to start", func() {
	It("waits for all to start, then is left alone with fewer, and is moved or stopped only below that", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 2)
		scheduler := startScheduler()
		const name = "gang"
		podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{
			scheduling.AnnotationMinRunning: `{"":2}`, scheduling.AnnotationRepairMove: "gang", scheduling.AnnotationRepairAfter: "0s",
		}}}
		podGroup.Spec = needing(3, required(rackLevel))
		_, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Create(ctx, podGroup, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		owner := &replacing{namespace: namespace, gang: name, leaves: map[string]int{"": 3}}
		owner.once(ctx)

		By("two nodes, which are not enough to start")
		Eventually(scheduled(namespace, name)).Should(withReason(scheduling.ReasonInfeasible))
		Expect(boundOf(namespace, gangOf(name))).To(BeZero())
		givenNode("z1", "r1", 2, 2)
		eventuallyBound(namespace, gangOf(name), 3)
		Eventually(scheduled(namespace, name)).Should(withReason(scheduling.ReasonPlaced))
		givenRack("z1", "r2", 3, 2)

		By("one pod less, which has no place beside the others")
		takeOne := func() {
			for pod, node := range nodesOf(namespace, gangOf(name)) {
				loseNode(node)
				deletePod(namespace, pod)
				return
			}
		}
		takeOne()
		owner.once(ctx)
		left := nodesOf(namespace, gangOf(name))
		Eventually(scheduled(namespace, name)).Should(HaveField("Message",
			HavePrefix("goes on with fewer pods than it needs to start: the PodGroup has 2 of 3 pods on nodes")))
		kill(scheduler)
		startScheduler()
		eventuallyWorks()
		Consistently(func(g Gomega) {
			g.Expect(nodesOf(namespace, gangOf(name))).To(Equal(left), "nobody is moved")
			g.Expect(scheduled(namespace, name)()).To(And(withReason(scheduling.ReasonPlaced), HaveField("Status", metav1.ConditionTrue)))
			g.Expect(planned(namespace, name)()).To(BeZero())
		}).WithTimeout(4 * time.Second).Should(Succeed())

		By("another one less")
		owner.start()
		takeOne()
		Eventually(reasonsTold(namespace, name)).Should(ContainElement("Moved"))
		Expect(eventuallyBound(namespace, gangOf(name), 3).domains(rackLevel)).To(Equal([]string{"/r2"}))
		Eventually(scheduled(namespace, name)).Should(And(withReason(scheduling.ReasonPlaced), HaveField("Message", "")))
	})
})

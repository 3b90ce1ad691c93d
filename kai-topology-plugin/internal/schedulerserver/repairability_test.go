package schedulerserver_test

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// foretelling is the configuration with an interval so long that a scheduler foretells once, when it starts.
func foretelling() string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "config.yaml")
	written := strings.TrimRight(configuration, "\n") + `
    pluginConfig:
      - name: KAITopology
        args: {repairabilityInterval: 24h}
`
	Expect(os.WriteFile(path, []byte(written), 0o600)).To(Succeed())
	return path
}

var _ = Describe("Failures that are foretold", func() {
	It("are told by metrics and by the condition of each PodGroup, which outlives the scheduler and goes when nobody "+
		"foretells", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 4)
		givenRack("z1", "r2", 1, 4)
		givenRack("z2", "r1", 1, 4)
		scheduler := startScheduler()
		givenPodGroup(namespace, "tied",
			scheduling.PodGroupSpec{MinMember: ptr.To[int32](2), TopologyConstraint: required(rackLevel)})
		givenPods(namespace, "tied", "", 2, 4)
		eventuallyBound(namespace, gangOf("tied"), 2)
		givenPodGroup(namespace, "free",
			scheduling.PodGroupSpec{MinMember: ptr.To[int32](1), TopologyConstraint: required(zoneLevel)})
		givenPods(namespace, "free", "", 1, 4)
		eventuallyBound(namespace, gangOf("free"), 1)
		givenPodGroup(namespace, "wide", scheduling.PodGroupSpec{MinMember: ptr.To[int32](9)})
		givenPods(namespace, "wide", "", 9, 4)
		Eventually(scheduled(namespace, "wide")).Should(withReason(scheduling.ReasonInfeasible))
		Eventually(scheduled(namespace, "free")).Should(withReason(scheduling.ReasonPlaced))
		Expect(repairable(namespace, "tied")()).To(BeZero(), "nobody has asked for it")
		kill(scheduler)

		By("a scheduler that foretells")
		scheduler, scrape := startSchedulerWithMetrics("--config", foretelling())
		Eventually(repairable(namespace, "tied")).Should(And(withReason(scheduling.ReasonLostWithNode),
			HaveField("Message", "if node z1-r1-0 failed, there would be no place for the gang, even if all its pods moved")))
		Eventually(repairable(namespace, "free")).Should(withReason(scheduling.ReasonMendable))
		Expect(repairable(namespace, "wide")()).To(BeZero(), "it stands nowhere")
		Eventually(func(g Gomega) {
			found, host := scrape(g), corev1.LabelHostname
			g.Expect(found.value("worst_failure_gangs", "level", zoneLevel, "outcome", "Lost")).To(BeEquivalentTo(1))
			g.Expect(found.value("worst_failure_gangs", "level", host, "outcome", "Lost")).To(BeEquivalentTo(1))
			g.Expect(found.value("failure_domains", "level", host, "outcome", "Lost")).To(BeEquivalentTo(2))
			g.Expect(found.value("failure_domains", "level", rackLevel, "outcome", "NothingHit")).To(BeEquivalentTo(1))
			g.Expect(found.value("failures_foretold_timestamp_seconds")).To(BeNumerically(">", 0))
			g.Expect(found.value("failures_foretold_work_seconds")).To(BeNumerically(">", 0))
		}).Should(Succeed())
		kill(scheduler)

		By("another one, which finds a way out")
		before := repairable(namespace, "free")()
		givenRack("z2", "r2", 2, 4)
		scheduler, _ = startSchedulerWithMetrics("--config", foretelling())
		Eventually(repairable(namespace, "tied")).Should(withReason(scheduling.ReasonMendable))
		Expect(repairable(namespace, "free")()).To(Equal(before))
		kill(scheduler)

		By("one that foretells nothing")
		startScheduler()
		Eventually(repairable(namespace, "tied")).Should(BeZero())
		Eventually(repairable(namespace, "free")).Should(BeZero())
	})
})

// repairable returns the condition Repairable of a PodGroup, the zero value if there is none.
func repairable(namespace, name string) func() metav1.Condition {
	return func() metav1.Condition {
		podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		if condition := meta.FindStatusCondition(podGroup.Status.Conditions,
			scheduling.ConditionRepairable); condition != nil {
			return *condition
		}
		return metav1.Condition{}
	}
}

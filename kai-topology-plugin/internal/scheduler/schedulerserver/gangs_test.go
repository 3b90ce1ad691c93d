package schedulerserver_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a gang", Ordered, ContinueOnFailure, func() {
	var namespace string

	BeforeAll(func() { startScheduler() })

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	It("stands in the domains that its groups require, at every depth", func() {
		for _, zone := range []string{"z1", "z2"} {
			givenRack(zone, "r1", 2, 4)
			givenRack(zone, "r2", 2, 4)
		}
		givenPodGroup(namespace, "sample", scheduling.PodGroupSpec{
			TopologyConstraint: required(zoneLevel),
			SubGroups: []scheduling.SubGroup{
				leaf("api", 1, nil),
				{Name: "workers"},
				in("workers", leaf("prefill", 2, required(rackLevel))),
				in("workers", leaf("decode", 3, required(rackLevel))),
			},
		})
		givenPods(namespace, "sample", "api", 1, 1)
		givenPods(namespace, "sample", "prefill", 2, 3)
		givenPods(namespace, "sample", "decode", 3, 2)

		all := eventuallyBound(namespace, gangOf("sample"), 6)
		Expect(all.domains(zoneLevel)).To(HaveLen(1), "zones of the gang")
		Expect(placementOf(namespace, leafOf("sample", "prefill")).domains(zoneLevel, rackLevel)).To(HaveLen(1))
		Expect(placementOf(namespace, leafOf("sample", "decode")).domains(zoneLevel, rackLevel)).To(HaveLen(1))

		Eventually(scheduled(namespace, "sample")).Should(
			And(withReason(scheduling.ReasonPlaced), HaveField("Status", metav1.ConditionTrue)))
		podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, "sample", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(podGroup.Status.SubGroups).To(HaveLen(5))
		Expect(podGroup.Status.SubGroups[0]).To(And(HaveField("Scheduled", int32(6)), HaveField("MinMember", int32(6))))
		Expect(podGroup.Status.SubGroups[0].Domains[zoneLevel]).To(HaveLen(1))
	})

	It("stands as close together as it can where it only prefers to", func() {
		givenRack("z1", "r1", 1, 2)
		givenRack("z1", "r2", 2, 2)
		givenRack("z1", "r3", 1, 2)
		eventuallyOpen("z1-r3-0")
		givenPodGroup(namespace, "close", needing(4, preferred(rackLevel)))
		givenPods(namespace, "close", "", 4, 1)
		Expect(eventuallyBound(namespace, gangOf("close"), 4).domains(rackLevel)).To(Equal([]string{"/r2"}))

		givenPodGroup(namespace, "spread", needing(4, preferred(rackLevel)))
		givenPods(namespace, "spread", "", 4, 1)
		Expect(eventuallyBound(namespace, gangOf("spread"), 4).domains(rackLevel)).To(Equal([]string{"/r1", "/r3"}))

		// No rack has room for the second any more.
		for name, domains := range map[string]int32{"close": 1, "spread": 2} {
			Eventually(func() (*scheduling.PlacementStatus, error) {
				podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
				return podGroup.Status.Placement, err
			}).Should(Equal(&scheduling.PlacementStatus{Domains: domains, Fewest: scheduling.FewestYes}),
				"how %s was placed", name)
		}
	})

	It("waits as a whole while it cannot fit, says why, and goes once it can", func() {
		givenRack("z1", "r1", 2, 2)
		givenRack("z1", "r2", 2, 2)
		givenPodGroup(namespace, "wide", needing(6, required(rackLevel)))
		givenPods(namespace, "wide", "", 6, 1)

		Eventually(scheduled(namespace, "wide")).Should(
			And(withReason(scheduling.ReasonInfeasible), HaveField("Message", Not(BeEmpty()))))
		Expect(placementOf(namespace, gangOf("wide"))).To(BeEmpty())

		givenRack("z1", "r3", 3, 2)
		Expect(eventuallyBound(namespace, gangOf("wide"), 6).domains(rackLevel)).To(Equal([]string{"/r3"}))
		Eventually(scheduled(namespace, "wide")).Should(withReason(scheduling.ReasonPlaced))
	})

	It("is held, and says so, until enough of its pods exist", func() {
		givenRack("z1", "r1", 2, 2)
		givenPodGroup(namespace, "late", needing(2, nil))
		givenPods(namespace, "late", "", 1, 1)
		Eventually(scheduled(namespace, "late")).Should(And(withReason(scheduling.ReasonIncomplete),
			HaveField("Message", "waiting for pods to be created: the PodGroup has 1 of 2")))
		Expect(placementOf(namespace, gangOf("late"))).To(BeEmpty())
		create(pod(namespace, "late", "", "late-more", 1))
		eventuallyBound(namespace, gangOf("late"), 2)
	})

	It("gets the nodes that are left to pods above the minimum, and those wait without holding it up", func() {
		givenRack("z1", "r1", 2, 2)
		givenPodGroup(namespace, "elastic", needing(2, required(rackLevel)))
		givenPods(namespace, "elastic", "", 6, 1)
		eventuallyBound(namespace, gangOf("elastic"), 4)
		Eventually(scheduled(namespace, "elastic")).Should(
			And(withReason(scheduling.ReasonPlaced), HaveField("Message", Not(BeEmpty()))))
	})

	// Grove renames PodGangs, and the pod grouper moves running pods to a PodGroup of the new name. The garbage collector
	// may remove the earlier one before.
	It("goes on running, and keeps its rack, when its PodGroup is made anew by another name", func() {
		givenRack("z1", "r1", 2, 2)
		givenRack("z1", "r2", 2, 2)
		spec := needing(2, required(rackLevel))
		givenPodGroup(namespace, "legacy", spec)
		givenPods(namespace, "legacy", "", 2, 2)
		stands := eventuallyBound(namespace, gangOf("legacy"), 2)
		Expect(packtree.SchedulingV2alpha2().PodGroups(namespace).Delete(ctx, "legacy", metav1.DeleteOptions{})).To(Succeed())
		givenPodGroup(namespace, "epoch", spec)
		for i := range 2 {
			move := fmt.Sprintf(`{"metadata":{"annotations":{%q:"epoch"}}}`, scheduling.AnnotationPodGroupName)
			_, err := kube.CoreV1().Pods(namespace).Patch(ctx, fmt.Sprint("legacy-", i), types.MergePatchType, []byte(move),
				metav1.PatchOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		Eventually(scheduled(namespace, "epoch")).Should(withReason(scheduling.ReasonPlaced))
		Expect(placementOf(namespace, gangOf("legacy"))).To(Equal(stands))
		deletePod(namespace, "legacy-0")
		create(pod(namespace, "epoch", "", "epoch-0", 2))
		eventuallyBound(namespace, "", 2)
		Expect(placementOf(namespace, "").domains(rackLevel)).To(Equal(stands.domains(rackLevel)))
	})

	It("is decided anew when its PodGroup is changed while it waits", func() {
		givenRack("z1", "r1", 2, 2)
		givenRack("z1", "r2", 2, 2)
		givenPodGroup(namespace, "wide", needing(6, required(rackLevel)))
		givenPods(namespace, "wide", "", 6, 1)
		Eventually(scheduled(namespace, "wide")).Should(withReason(scheduling.ReasonInfeasible))
		patchPodGroup(namespace, "wide",
			fmt.Sprintf(`{"spec":{"topologyConstraint":{"requiredTopologyLevel":%q}}}`, zoneLevel))
		eventuallyBound(namespace, gangOf("wide"), 6)

		givenPodGroup(namespace, "fewer", needing(4, required(zoneLevel)))
		givenPods(namespace, "fewer", "", 4, 1)
		Eventually(scheduled(namespace, "fewer")).Should(withReason(scheduling.ReasonInfeasible))
		patchPodGroup(namespace, "fewer", `{"spec":{"minMember":1}}`)
		eventuallyBound(namespace, gangOf("fewer"), 2)
	})

	It("waits while its Topology is gone, which others that stand do not mind", func() {
		givenRack("z1", "r1", 2, 2)
		needs := needing(2, required(rackLevel))
		givenPodGroup(namespace, "early", needs)
		givenPods(namespace, "early", "", 2, 1)
		stands := eventuallyBound(namespace, gangOf("early"), 2)
		Expect(packtree.KaiV1alpha1().Topologies().Delete(ctx, topologyName, metav1.DeleteOptions{})).To(Succeed())
		givenPodGroup(namespace, "late", needs) // Its pods come when the scheduler knows.
		invalid := And(withReason(scheduling.ReasonInvalid), HaveField("Message", ContainSubstring(topologyName)))
		Eventually(scheduled(namespace, "late")).Should(invalid)
		givenPods(namespace, "late", "", 2, 1)
		Consistently(scheduled(namespace, "late")).WithTimeout(time.Second).Should(invalid)
		Expect(placementOf(namespace, "")).To(Equal(stands))
		givenTopology()
		eventuallyBound(namespace, gangOf("late"), 2)
	})

	It("binds pods with the labels of their nodes that they ask for, in a gang or not", func() {
		givenRack("z1", "r1", 2, 2)
		givenPodGroup(namespace, "told", needing(1, required(rackLevel)))
		for _, gang := range []string{"told", ""} {
			asking := pod(namespace, gang, "", "asking"+gang, 1)
			metav1.SetMetaDataAnnotation(&asking.ObjectMeta, scheduling.AnnotationNodeLabels,
				"example.com/rack="+rackLevel+",not/a/key="+rackLevel+",none")
			create(asking)
		}
		eventuallyBound(namespace, "", 2)
		for name, domain := range map[string]string{"asking": "", "askingtold": "z1/r1"} {
			bound, err := kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(bound.Labels).To(HaveKeyWithValue("example.com/rack", "r1"))
			Expect(bound.Labels).NotTo(Or(HaveKey("not/a/key"), HaveKey("none")))
			Expect(bound.Annotations[scheduling.AnnotationTopologyDomain]).To(HavePrefix(domain))
		}
	})
})

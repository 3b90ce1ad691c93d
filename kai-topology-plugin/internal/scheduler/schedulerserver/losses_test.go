package schedulerserver_test

import (
	"os/exec"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a gang that loses pods", func() {
	var (
		namespace string
		scheduler *exec.Cmd
	)

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
		scheduler = startScheduler()
	})

	// standing places a gang of two pods that fill a node each, in rack r1 or r2, and returns the rack and the node of
	// pod 0.
	standing := func(spec scheduling.PodGroupSpec) (rack, node string) {
		spec.MinMember = ptr.To[int32](2)
		spec.TopologyConstraint = required(rackLevel)
		givenPodGroup(namespace, "gang", spec)
		givenPods(namespace, "gang", "", 2, 2)
		found := eventuallyBound(namespace, gangOf("gang"), 2)
		Eventually(scheduled(namespace, "gang")).Should(withReason(scheduling.ReasonPlaced))
		Expect(found.domains(rackLevel)).To(HaveLen(1))
		lost, err := kube.CoreV1().Pods(namespace).Get(ctx, "gang-0", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		return found.domains(rackLevel)[0], lost.Spec.NodeName
	}

	finish := func(name string) {
		patch := []byte(`{"status":{"phase":"Succeeded"}}`)
		_, err := kube.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		Expect(err).NotTo(HaveOccurred())
	}

	It("has lost none that have done their work, and says when all have", func() {
		givenRack("z1", "r1", 2, 2)
		grace := metav1.Duration{}
		standing(scheduling.PodGroupSpec{StalenessGracePeriod: &grace})
		finish("gang-0")
		Consistently(scheduled(namespace, "gang")).WithTimeout(2 * time.Second).Should(withReason(scheduling.ReasonPlaced))
		Expect(podsOf(namespace, gangOf("gang"))).To(HaveLen(2),
			"nothing of a gang is stopped because another part has finished")
		deletePod(namespace, "gang-0")
		kill(scheduler)
		startScheduler()
		eventuallyWorks()
		Consistently(scheduled(namespace, "gang")).WithTimeout(2*time.Second).Should(withReason(scheduling.ReasonPlaced),
			"what has done its work counts when it is gone, and for the next scheduler")
		Expect(podsOf(namespace, gangOf("gang"))).To(HaveLen(1))
		finish("gang-1")
		Eventually(scheduled(namespace, "gang")).Should(And(withReason(scheduling.ReasonPlaced),
			HaveField("Message", HavePrefix("finished: "))))
		Consistently(scheduled(namespace, "gang")).WithTimeout(time.Second).Should(withReason(scheduling.ReasonPlaced))
	})

	// replaced has a gang in one of two racks lose pod 0, wants another in its rack, and returns the nodes of both.
	replaced := func(lose func(node string)) (before, after string) {
		GinkgoHelper()
		givenRack("z1", "r1", 3, 2)
		givenRack("z1", "r2", 3, 2)
		rack, node := standing(scheduling.PodGroupSpec{})
		lose(node)
		create(pod(namespace, "gang", "", "gang-again", 2))
		Expect(eventuallyBound(namespace, gangOf("gang"), 2).domains(rackLevel)).To(Equal([]string{rack}))
		return node, nodeOf(namespace, "gang-again")
	}

	It("has them replaced in its rack when their node is deleted", func() {
		replaced(func(node string) {
			loseNode(node)
			deletePod(namespace, "gang-0")
		})
	})

	It("has them replaced in its rack, off the node, when that is tainted", func() {
		before, after := replaced(func(node string) {
			taintNode(node)
			deletePod(namespace, "gang-0")
		})
		Expect(after).NotTo(Equal(before))
	})

	It("waits and says that it runs below its minimum when its rack has no room for them, and is whole once it has",
		func() {
			givenRack("z1", "r1", 2, 2)
			givenRack("z1", "r2", 2, 2)
			rack, node := standing(scheduling.PodGroupSpec{})
			cordonNode(node)
			evict(namespace, "gang-0")
			create(pod(namespace, "gang", "", "gang-again", 2))
			Eventually(scheduled(namespace, "gang")).Should(And(withReason(scheduling.ReasonBelowMinimum), HaveField("Message",
				And(HavePrefix("runs below its minimum: the PodGroup has 1 of 2 pods on nodes; "),
					ContainSubstring("running pods tie it to z1"+rack)))))
			Expect(placementOf(namespace, gangOf("gang"))).To(HaveLen(1))

			By("adding a node to the rack")
			givenNode("z1", rack[1:], 2, 2)
			Expect(eventuallyBound(namespace, gangOf("gang"), 2).domains(rackLevel)).To(Equal([]string{rack}))
			Eventually(scheduled(namespace, "gang")).Should(withReason(scheduling.ReasonPlaced))
		})

	It("is stopped after stalenessGracePeriod, and starts elsewhere", func() {
		givenRack("z1", "r1", 2, 2)
		givenRack("z1", "r2", 2, 2)
		rack, node := standing(scheduling.PodGroupSpec{StalenessGracePeriod: &metav1.Duration{}})
		loseNode(node)
		deletePod(namespace, "gang-0")
		eventuallyStopped(namespace, "gang-1")
		givenPods(namespace, "gang", "", 2, 2)
		Expect(eventuallyBound(namespace, gangOf("gang"), 2).domains(rackLevel)).NotTo(Equal([]string{rack}))
	})

	It("is stopped by a scheduler that starts when the grace period is over", func() {
		givenRack("z1", "r1", 2, 2)
		_, node := standing(scheduling.PodGroupSpec{StalenessGracePeriod: &metav1.Duration{Duration: time.Hour}})
		takeNode(node)
		deletePod(namespace, "gang-0")
		Eventually(scheduled(namespace, "gang")).Should(withReason(scheduling.ReasonBelowMinimum))
		kill(scheduler)
		longAgo(namespace, "gang", 2*time.Hour)
		startScheduler()
		eventuallyStopped(namespace, "gang-1")
	})
})

func deletePod(namespace, name string) {
	GinkgoHelper()
	Expect(kube.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})).To(
		Succeed())
}

// evict does what kubectl drain does, and then what the kubelet would.
func evict(namespace, name string) {
	GinkgoHelper()
	Expect(kube.CoreV1().Pods(namespace).EvictV1(ctx,
		&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
	deletePod(namespace, name)
}

// eventuallyStopped waits until the pod is deleted, and removes it as the kubelet would.
func eventuallyStopped(namespace, name string) {
	GinkgoHelper()
	Eventually(func() *metav1.Time {
		found, err := kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		return found.DeletionTimestamp
	}).ShouldNot(BeNil(), "deletion of pod %s", name)
	deletePod(namespace, name)
}

func takeNode(name string) {
	GinkgoHelper()
	Expect(kube.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
}

// loseNode is takeNode until the scheduler knows of it.
func loseNode(name string) {
	GinkgoHelper()
	takeNode(name)
	eventuallyClosed(name)
}

func patchNode(name, patch string) {
	GinkgoHelper()
	_, err := kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func cordonNode(name string) {
	GinkgoHelper()
	patchNode(name, `{"spec":{"unschedulable":true}}`)
	eventuallyClosed(name)
}

// taintNode taints a node so that pods have to leave it. Not as the node controller does for one that does not answer:
// the API server has every pod tolerate that for a while.
func taintNode(name string) {
	GinkgoHelper()
	patchNode(name, `{"spec":{"taints":[{"key":"maintenance","effect":"NoExecute"}]}}`)
	eventuallyClosed(name)
}

// eventuallyClosed waits until the scheduler knows that a node takes no pods: it hears of nodes and of pods separately.
func eventuallyClosed(node string) {
	GinkgoHelper()
	eventuallyTold(node, "FalseUnschedulable")
}

// eventuallyOpen waits until the scheduler knows a node, and with it all nodes that were made before.
func eventuallyOpen(node string) {
	GinkgoHelper()
	eventuallyTold(node, "True")
}

// eventuallyTold waits until a pod for one node is told this.
func eventuallyTold(node, told string) {
	GinkgoHelper()
	namespace := givenNamespace()
	Eventually(func() string {
		probe := pod(namespace, "", "", "probe", 0)
		probe.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
					{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
				}}},
			}}}
		create(probe)
		var reason string
		Eventually(func() string {
			found, err := kube.CoreV1().Pods(namespace).Get(ctx, "probe", metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			for _, condition := range found.Status.Conditions {
				if condition.Type == corev1.PodScheduled {
					reason = string(condition.Status) + condition.Reason
				}
			}
			return reason
		}).ShouldNot(BeEmpty())
		deletePod(namespace, "probe")
		return reason
	}).Should(Equal(told), "a pod for node %s", node)
}

// eventuallyWorks waits until a scheduler that has started says something of a pod: it has listed all that was there
// before. Nothing comes to stand on a node by that.
func eventuallyWorks() {
	GinkgoHelper()
	eventuallyTold("there-is-none", "FalseUnschedulable")
}

func nodeOf(namespace, name string) string {
	GinkgoHelper()
	found, err := kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return found.Spec.NodeName
}

// longAgo dates back the condition Scheduled of a PodGroup.
func longAgo(namespace, name string, ago time.Duration) {
	GinkgoHelper()
	podGroups := packtree.SchedulingV2alpha2().PodGroups(namespace)
	Eventually(func() error { // A scheduler that was killed may have written its status a moment ago.
		podGroup, err := podGroups.Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		condition := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled)
		condition.LastTransitionTime = metav1.NewTime(condition.LastTransitionTime.Add(-ago))
		_, err = podGroups.UpdateStatus(ctx, podGroup, metav1.UpdateOptions{})
		return err
	}).Should(Succeed())
}

package schedulerserver_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a gang of many pods", func() {
	const size = 200
	var namespace string

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	It("waits without a word too many: one event, one per pod, no line per pod, and nothing written twice", func() {
		log := &lockedBuffer{}
		givenRack("z1", "r1", 2, 2)
		givenPodGroup(namespace, "big", needing(size, required(rackLevel)))
		givenPods(namespace, "big", "", size, 1)
		// While the pods come it may say, once that takes long, that some are missing.
		startSchedulerWith(io.MultiWriter(log, GinkgoWriter), "--secure-port", "0")

		sentence := eventuallyToldAlike(namespace, "big", size)
		Eventually(nodesNeeded(namespace, "big")).ShouldNot(BeEmpty())
		By("attempts that end alike")
		before := atRest(namespace)
		for round := range 5 {
			touchNode("z1-r1-0", fmt.Sprint(round))
			Consistently(func() map[string]string { return versions(namespace) }, "400ms").Should(Equal(before))
		}
		Expect(scheduled(namespace, "big")().Message).To(HavePrefix(sentence + "; it would fit if you add "))

		By("attempts that end for another reason")
		givenRack("z1", "r2", 3, 2)
		Eventually(func() string { return eventuallyToldAlike(namespace, "big", size) }).ShouldNot(Equal(sentence))

		Eventually(func() []eventsv1.Event { return eventsAbout(namespace, "PodGroup") }).Should(
			HaveExactElements(HaveField("Reason", scheduling.ReasonInfeasible)))
		Eventually(func() []eventsv1.Event { return eventsAbout(namespace, "Pod") }).Should(HaveLen(size))
		Expect(eventsAbout(namespace, "Pod")).To(
			HaveEach(And(HaveField("Series", BeNil()), HaveField("Note", Not(ContainSubstring("nodes are available"))))))
		Expect(log.linesWith("big-")).To(BeEmpty(), "lines about single pods")
	})

	It("is bound with one line in the log, and one event that says where", func() {
		log := &lockedBuffer{}
		givenRack("z1", "r1", 25, 8)
		givenPodGroup(namespace, "big", needing(size, required(rackLevel)))
		givenPods(namespace, "big", "", size, 1)
		startSchedulerWith(io.MultiWriter(log, GinkgoWriter), "--secure-port", "0")
		eventuallyBound(namespace, gangOf("big"), size)

		Eventually(func() []eventsv1.Event { return eventsAbout(namespace, "PodGroup") }).Should(HaveExactElements(And(
			HaveField("Reason", scheduling.ReasonPlaced), HaveField("Note", ContainSubstring("topology/rack z1/r1")),
		)))
		Expect(log.linesWith("big-")).To(BeEmpty(), "lines about single pods")
		Expect(log.linesWith("Gang decided")).To(HaveLen(1))
		Eventually(func(g Gomega) {
			status := podGroupOf(namespace, "big").Status
			g.Expect(status.ResourcesStatus.Allocated).To(HaveKeyWithValue(gpu, HaveField("String()", fmt.Sprint(size))))
			g.Expect(status.SubGroups).NotTo(BeEmpty())
			g.Expect(status.SubGroups[0].Scheduled).To(BeEquivalentTo(size))
			g.Expect(status.SchedulingConditions).To(BeEmpty())
		}).Should(Succeed())

		By("events that change nothing")
		before := atRest(namespace)
		for round := range 5 {
			touchNode("z1-r1-0", fmt.Sprint(round))
			create(pod(namespace, "", "", fmt.Sprint("other-", round), 0))
		}
		eventuallyBound(namespace, "gang=", 5)
		Consistently(func() string { return versions(namespace)["PodGroup/big"] }, "1s").Should(Equal(before["PodGroup/big"]))
	})
})

// lockedBuffer is what the program printed.
type lockedBuffer struct {
	mu      sync.Mutex
	written bytes.Buffer
}

// Write is called from another goroutine than the spec's.
func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written.Write(data)
}

// linesWith returns the lines that contain a text.
func (b *lockedBuffer) linesWith(text string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []string
	for line := range strings.Lines(b.written.String()) {
		// Client libraries say, at most once a second, that they hold requests back.
		if strings.Contains(line, text) && !strings.Contains(line, "Waited before sending request") {
			found = append(found, line)
		}
	}
	return found
}

// eventuallyToldAlike waits until the condition of every pod says what the PodGroup's says, and returns that.
func eventuallyToldAlike(namespace, gang string, size int) string {
	GinkgoHelper()
	var sentence string
	Eventually(func(g Gomega) {
		condition := scheduled(namespace, gang)()
		g.Expect(condition.Reason).To(Equal(scheduling.ReasonInfeasible))
		sentence, _, _ = strings.Cut(condition.Message, "; it would fit if you add ") // Pods are not told what would help.
		pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: gangOf(gang)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods.Items).To(And(HaveLen(size), HaveEach(HaveField("Status.Conditions",
			ConsistOf(And(HaveField("Type", corev1.PodScheduled), HaveField("Message", sentence)))))))
	}).Should(Succeed())
	return sentence
}

// versions are the resource versions of the PodGroups and pods of a namespace.
func versions(namespace string) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range pods.Items {
		found["Pod/"+pod.Name] = pod.ResourceVersion
	}
	podGroups, err := packtree.SchedulingV2alpha2().PodGroups(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for _, podGroup := range podGroups.Items {
		found["PodGroup/"+podGroup.Name] = podGroup.ResourceVersion
	}
	return found
}

// atRest returns the resource versions after a time without writes.
func atRest(namespace string) map[string]string {
	GinkgoHelper()
	var before map[string]string
	Eventually(func(g Gomega) {
		before = versions(namespace)
		g.Consistently(func() map[string]string { return versions(namespace) }, "500ms").Should(Equal(before))
	}).Should(Succeed(), "something is written again and again")
	return before
}

func podGroupOf(namespace, name string) *scheduling.PodGroup {
	GinkgoHelper()
	podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return podGroup
}

// touchNode changes an unused label, after which waiting pods are tried again.
func touchNode(name, value string) {
	GinkgoHelper()
	patchNode(name, fmt.Sprintf(`{"metadata":{"labels":{"touched":%q}}}`, value))
}

// eventsAbout returns the events about objects of a kind, without those of pods that were bound.
func eventsAbout(namespace, kind string) []eventsv1.Event {
	GinkgoHelper()
	list, err := kube.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	var found []eventsv1.Event
	for _, event := range list.Items {
		if event.Regarding.Kind == kind && event.Reason != "Scheduled" {
			found = append(found, event)
		}
	}
	return found
}

package schedulerserver_test

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	low    = "low"
	middle = "middle"
	high   = "high"
)

// givenPriorities creates the PriorityClasses low, middle and high.
func givenPriorities() {
	GinkgoHelper()
	for i, name := range []string{low, middle, high} {
		_, err := kube.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(i+1) * 1000,
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			Expect(kube.SchedulingV1().PriorityClasses().Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		})
	}
	Eventually(func() error { // The API server hears of them later than of pods.
		tried := important(high, pod(metav1.NamespaceDefault, "", "", "tried", 1))
		_, err := kube.CoreV1().Pods(tried.Namespace).Create(ctx, tried, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}).Should(Succeed())
}

// givenGang creates a PodGroup in one rack with pods of one GPU in order of their names; minimum of them are needed.
func givenGang(namespace, name, priority string, pods int, minimum int32) {
	GinkgoHelper()
	givenPodGroup(namespace, name, needing(minimum, required(rackLevel)))
	for i := range pods {
		create(important(priority, pod(namespace, name, "", fmt.Sprintf("%s-%d", name, i), 1)))
	}
}

func important(priority string, made *corev1.Pod) *corev1.Pod {
	made.Spec.PriorityClassName = priority
	return made
}

func podsOf(namespace, selector string) []corev1.Pod {
	GinkgoHelper()
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	Expect(err).NotTo(HaveOccurred())
	return pods.Items
}

// leaving are the names of the pods that are being deleted by preemption.
func leaving(namespace, selector string) func() []string {
	return func() []string {
		names := []string{}
		for _, pod := range podsOf(namespace, selector) {
			disrupted := slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
				return condition.Type == corev1.DisruptionTarget && condition.Reason == corev1.PodReasonPreemptionByScheduler
			})
			if pod.DeletionTimestamp != nil && disrupted {
				names = append(names, pod.Name)
			}
		}
		return names
	}
}

// nominated are the nodes that pods have been promised.
func nominated(namespace, selector string) func() []string {
	return func() []string {
		nodes := []string{}
		for _, pod := range podsOf(namespace, selector) {
			if node := pod.Status.NominatedNodeName; node != "" {
				nodes = append(nodes, node)
			}
		}
		slices.Sort(nodes)
		return nodes
	}
}

// terminate does what the kubelet does once a pod that is being deleted has stopped.
func terminate(namespace string, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		Expect(kube.CoreV1().Pods(namespace).Delete(ctx, name,
			metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})).To(Succeed())
	}
}

func toldOf(namespace, reason string) func() []string {
	return func() []string {
		events, err := kube.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		var about []string
		for _, event := range events.Items {
			if event.Reason == reason {
				about = append(about, event.Regarding.Kind+" "+event.Regarding.Name)
			}
		}
		return about
	}
}

var _ = Describe("preemption", func() {
	var namespace string

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
		givenPriorities()
	})

	Context("while the scheduler runs", Ordered, ContinueOnFailure, func() {
		BeforeAll(func() { startScheduler() })

		It("clears the cheapest rack, holds the room while pods stop, and leaves all others alone", func() {
			givenRack("z1", "r1", 2, 2)
			givenRack("z1", "r2", 2, 2)
			givenGang(namespace, "dear", middle, 4, 4)
			dear := eventuallyBound(namespace, gangOf("dear"), 4).domains(rackLevel)
			givenGang(namespace, "cheap", low, 4, 4)
			cheap := eventuallyBound(namespace, gangOf("cheap"), 4).domains(rackLevel)
			Expect(cheap).NotTo(Equal(dear))

			givenGang(namespace, "boss", high, 4, 4)
			Eventually(leaving(namespace, gangOf("cheap"))).Should(HaveLen(4))
			Eventually(nominated(namespace, gangOf("boss"))).Should(HaveLen(4))
			Eventually(scheduled(namespace, "boss")).Should(And(withReason(scheduling.ReasonWaiting),
				HaveField("Message", ContainSubstring("waiting for 4 pods of "+namespace+"/cheap to terminate"))))
			Eventually(toldOf(namespace, "Preempted")).Should(ContainElements("Pod cheap-0", "Pod cheap-3", "PodGroup cheap"))
			Eventually(toldOf(namespace, "Preempting")).Should(ContainElement("PodGroup boss"))

			// Neither an equal that comes later nor one below gets what becomes free, one pod after the other.
			givenGang(namespace, "rival", high, 1, 1)
			create(important(low, pod(namespace, "", "", "single", 1)))
			terminate(namespace, "cheap-0", "cheap-1", "cheap-2", "cheap-3")
			Expect(eventuallyBound(namespace, gangOf("boss"), 4).domains(rackLevel)).To(Equal(cheap))
			Eventually(leaving(namespace, gangOf("dear"))).ShouldNot(BeEmpty(), "the rival takes what is left to be taken")
		})

		It("waits for the preemptionDelay first", func() {
			givenRack("z1", "r1", 1, 2)
			givenGang(namespace, "cheap", low, 2, 2)
			eventuallyBound(namespace, gangOf("cheap"), 2)
			givenPodGroup(namespace, "patient", scheduling.PodGroupSpec{
				MinMember: ptr.To[int32](1), PreemptionDelay: &metav1.Duration{Duration: time.Hour},
			})
			create(important(high, pod(namespace, "patient", "", "patient-0", 1)))
			Eventually(scheduled(namespace, "patient")).Should(withReason(scheduling.ReasonInfeasible))
			Expect(leaving(namespace, "")()).To(BeEmpty())
			patchPodGroup(namespace, "patient", `{"spec":{"preemptionDelay":"3s"}}`)
			Eventually(leaving(namespace, gangOf("cheap"))).Should(HaveLen(2))
			came := podsOf(namespace, gangOf("patient"))[0].CreationTimestamp.Time
			for _, victim := range podsOf(namespace, gangOf("cheap")) {
				Expect(victim.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.DisruptionTarget),
					HaveField("LastTransitionTime.Time", BeTemporally(">=", came.Add(3*time.Second))))))
			}
		})

		It("lets a pod without a gang take a gang as a whole, or what it can spare", func() {
			givenRack("z1", "r1", 2, 1)
			givenGang(namespace, "pair", low, 2, 2)
			eventuallyBound(namespace, gangOf("pair"), 2)
			create(important(high, pod(namespace, "", "", "single", 1)))
			Eventually(leaving(namespace, "")).Should(ConsistOf("pair-0", "pair-1"))
			terminate(namespace, "pair-0", "pair-1")
			Eventually(func() placement { return placementOf(namespace, "gang=") }).Should(HaveKey("single"))

			givenGang(namespace, "lone", low, 1, 0)
			eventuallyBound(namespace, gangOf("lone"), 1)
			create(important(high, pod(namespace, "", "", "another", 1)))
			Eventually(leaving(namespace, "")).Should(ConsistOf("lone-0"))
		})
	})

	It("asks nobody a second time after a restart while those who were asked stop", func() {
		givenRack("z1", "r1", 1, 2)
		givenRack("z1", "r2", 1, 2)
		scheduler := startScheduler()
		givenGang(namespace, "cheap", low, 2, 2)
		eventuallyBound(namespace, gangOf("cheap"), 2)
		givenGang(namespace, "dear", low, 2, 2)
		eventuallyBound(namespace, gangOf("dear"), 2)
		givenGang(namespace, "boss", high, 2, 2)
		Eventually(leaving(namespace, "")).Should(HaveLen(2))
		gone := leaving(namespace, "")()
		kill(scheduler)
		startScheduler()
		Eventually(scheduled(namespace, "boss")).Should(
			HaveField("Message", ContainSubstring("waiting for 2 pods to terminate")))
		Expect(leaving(namespace, "")()).To(Equal(gone))
		terminate(namespace, gone...)
		eventuallyBound(namespace, gangOf("boss"), 2)
		Expect(leaving(namespace, "")()).To(BeEmpty())
	})
})

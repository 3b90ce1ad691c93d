package schedulerserver_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// replacing creates pods of a gang again after they are deleted, as their owner and the kubelet would: that many pods
// of each leaf, each on a node of two devices.
type replacing struct {
	namespace, gang string
	leaves          map[string]int
	made            int
	// stop ends what start began. It may be called twice.
	stop func()
}

func (o *replacing) pod(leaf string) *corev1.Pod {
	made := pod(o.namespace, o.gang, leaf, fmt.Sprintf("%s-%s-%d", o.gang, leaf, o.made), 2)
	made.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "StatefulSet", Name: o.gang, UID: "1", Controller: ptr.To(true),
	}}
	o.made++
	return made
}

// once takes pods away that are to go, and makes what is missing.
func (o *replacing) once(ctx context.Context) {
	pods, err := kube.CoreV1().Pods(o.namespace).List(ctx, metav1.ListOptions{LabelSelector: gangOf(o.gang)})
	if err != nil {
		return // The spec has ended.
	}
	there := map[string]int{}
	for _, found := range pods.Items {
		if found.DeletionTimestamp != nil {
			_ = kube.CoreV1().Pods(o.namespace).Delete(ctx, found.Name,
				metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
			continue
		}
		there[found.Labels["kai.scheduler/subgroup-name"]]++
	}
	for leaf, count := range o.leaves {
		for range count - there[leaf] {
			_, _ = kube.CoreV1().Pods(o.namespace).Create(ctx, o.pod(leaf), metav1.CreateOptions{})
		}
	}
}

func (o *replacing) start() {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			o.once(ctx)
			time.Sleep(100 * time.Millisecond)
		}
	}()
	o.stop = func() { cancel(); <-ended }
	DeferCleanup(o.stop)
}

// planned returns the condition RepairPlanned of a PodGroup, the zero value if there is none.
func planned(namespace, name string) func() metav1.Condition {
	return func() metav1.Condition {
		podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		if condition := meta.FindStatusCondition(podGroup.Status.Conditions,
			scheduling.ConditionRepairPlanned); condition != nil {
			return *condition
		}
		return metav1.Condition{}
	}
}

// reasonsTold returns the reasons of the events on a PodGroup.
func reasonsTold(namespace, name string) func() []string {
	return func() (reasons []string) {
		for _, event := range eventsOn(namespace, "PodGroup", name) {
			reasons = append(reasons, event.Reason)
		}
		return reasons
	}
}

var _ = Describe("a gang that has lost pods and has no room where the others stand", func() {
	var (
		namespace string
		scheduler *exec.Cmd
	)
	const name = "gang"

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 2)
		givenRack("z1", "r2", 2, 2)
		scheduler = startScheduler()
	})

	// annotate changes what may be moved for the gang, and when. Room is held for longer than any spec takes, so that a
	// move with a paused owner goes on, however slow the machine is.
	annotate := func(move, after string) {
		GinkgoHelper()
		patchPodGroup(namespace, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q,%q:"1h"}}}`,
			scheduling.AnnotationRepairMove, move, scheduling.AnnotationRepairAfter, after, scheduling.AnnotationSeatHold))
	}

	// standing places a gang of two subgroups of two pods that need a rack each, on four nodes, and makes a third rack.
	// It returns the nodes of each.
	standing := func(move, after string) (owner *replacing, a, b map[string]string) {
		GinkgoHelper()
		givenPodGroup(namespace, name, scheduling.PodGroupSpec{
			TopologyConstraint: required(zoneLevel),
			SubGroups:          []scheduling.SubGroup{leaf("a", 2, required(rackLevel)), leaf("b", 2, required(rackLevel))},
		})
		annotate(move, after)
		owner = &replacing{namespace: namespace, gang: name, leaves: map[string]int{"a": 2, "b": 2}}
		owner.once(ctx)
		eventuallyBound(namespace, gangOf(name), 4)
		Eventually(scheduled(namespace, name)).Should(withReason(scheduling.ReasonPlaced))
		givenRack("z1", "r3", 2, 2)
		owner.start()
		return owner, nodesOf(namespace, leafOf(name, "a")), nodesOf(namespace, leafOf(name, "b"))
	}

	// loseOne takes one of the nodes of a subgroup, and the pod on it once the scheduler knows: it would bind the next one
	// there.
	var lostAt time.Time
	loseOne := func(nodes map[string]string) (left string) {
		GinkgoHelper()
		lost := slices.Sorted(func(yield func(string) bool) {
			for pod := range nodes {
				if !yield(pod) {
					return
				}
			}
		})
		loseNode(nodes[lost[0]])
		lostAt = time.Now()
		deletePod(namespace, lost[0])
		return lost[1]
	}

	movedToThird := func(b map[string]string) {
		GinkgoHelper()
		Eventually(scheduled(namespace, name)).Should(withReason(scheduling.ReasonPlaced))
		Expect(eventuallyBound(namespace, leafOf(name, "a"), 2).domains(rackLevel)).To(Equal([]string{"/r3"}))
		Expect(nodesOf(namespace, leafOf(name, "b"))).To(Equal(b), "the other subgroup stays where it is")
		Eventually(planned(namespace, name)).Should(BeZero())
		Eventually(seatsOf(namespace, name)).Should(BeZero())
	}

	It("has the subgroup moved to the rack that has room, after a time that it is told before", func() {
		owner, a, b := standing("subgroup", "1h") // So that it is ahead for as long as it is looked at.
		owner.stop()                              // So that the move goes on for as long as it is looked at.
		loseOne(a)
		owner.once(ctx)
		Eventually(planned(namespace, name)).Should(
			And(withReason(scheduling.ReasonMoveAhead), HaveField("Status", metav1.ConditionTrue),
				HaveField("Message",
					And(HavePrefix("will move subgroup a (1 pod) from "+rackLevel+" z1/r"), ContainSubstring(" to z1/r3 at 2")))))
		below := scheduled(namespace, name)()
		Expect(below.Reason).To(Equal(scheduling.ReasonBelowMinimum))
		annotate("subgroup", "5s")
		Eventually(planned(namespace, name)).Should(
			And(withReason(scheduling.ReasonMoving), HaveField("Message", HaveSuffix("room is held there for 2 pods"))))
		Expect(time.Since(below.LastTransitionTime.Time)).To(BeNumerically(">=", 5*time.Second))
		owner.start()
		movedToThird(b)
		Eventually(reasonsTold(namespace, name)).Should(ContainElements("MoveAhead", "Moving", "Moved"))
		Expect(reasonsTold(namespace, name)()).NotTo(ContainElement("MoveGivenUp"))
	})

	It("is moved at once if that is asked for, and how long it takes is told", func() {
		_, a, b := standing("subgroup", "0s")
		loseOne(a)
		Eventually(nodesOf).WithArguments(namespace, leafOf(name, "a")).WithPolling(10 * time.Millisecond).Should(
			And(HaveLen(2), HaveEach(HavePrefix("z1-r3-"))))
		fmt.Fprintf(GinkgoWriter, "from the loss of a pod to the binding of what was moved: %s\n", time.Since(lostAt))
		movedToThird(b)
	})

	It("is told what would help where nothing may be moved, and has it done once it may", func() {
		_, a, b := standing("none", "0s")
		left := loseOne(a)
		Eventually(planned(namespace, name)).Should(
			And(withReason(scheduling.ReasonMoveNotAllowed), HaveField("Status", metav1.ConditionFalse),
				HaveField("Message",
					HaveSuffix("to z1/r3 would help, which annotation packtree.dev/repair-move: subgroup would allow"))))
		Consistently(func() map[string]string { return nodesOf(namespace, leafOf(name, "a")) }).WithTimeout(3 * time.Second).
			Should(Equal(map[string]string{left: a[left]}))
		annotate("gang", "soon")
		Eventually(planned(namespace, name)).Should(And(withReason(scheduling.ReasonInvalidPolicy),
			HaveField("Message",
				`metadata.annotations[packtree.dev/repair-after]: Invalid value: "soon": must be a duration of at least 0, such as 2m`)))
		Consistently(func() map[string]string { return nodesOf(namespace, leafOf(name, "a")) }).WithTimeout(2 * time.Second).
			Should(Equal(map[string]string{left: a[left]}))
		annotate("gang", "0s")
		movedToThird(b)
	})

	It("is not moved if a PodDisruptionBudget forbids it, and says so", func() {
		_, a, b := standing("gang", "0s")
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keep"}}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"gang": name}}
		budget, err := kube.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, budget, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		left := loseOne(a)
		Eventually(planned(namespace, name)).Should(And(withReason(scheduling.ReasonMoveBudget),
			HaveField("Message",
				HaveSuffix(fmt.Sprintf("would help, but PodDisruptionBudget %s/keep does not allow the eviction of all these pods",
					namespace)))))
		Consistently(func() map[string]string { return nodesOf(namespace, leafOf(name, "a")) }).WithTimeout(3 * time.Second).
			Should(Equal(map[string]string{left: a[left]}))
		Expect(seatsOf(namespace, name)()).To(BeZero())

		By("the budget's controller, which lets one go")
		budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: 1,
			ExpectedPods: 4, CurrentHealthy: 4, DesiredHealthy: 3}
		_, err = kube.PolicyV1().PodDisruptionBudgets(namespace).UpdateStatus(ctx, budget, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		movedToThird(b)
	})

	It("is moved whole, or stays, however often the scheduler is killed", func() {
		owner, a, b := standing("subgroup", "1h")
		owner.stop() // So that the move goes on until the scheduler is killed.
		loseOne(a)
		owner.once(ctx)
		killedOnce := func(reached string) {
			GinkgoHelper()
			Eventually(planned(namespace, name)).Should(withReason(reached), "before the scheduler is killed")
			kill(scheduler)
			Expect(planned(namespace, name)()).To(withReason(reached))
			scheduler = startScheduler()
		}
		killedOnce(scheduling.ReasonMoveAhead)
		annotate("subgroup", "0s")
		killedOnce(scheduling.ReasonMoving)
		owner.start()
		movedToThird(b)
		Expect(strings.Join(reasonsTold(namespace, name)(), " ")).NotTo(ContainSubstring("Invalid"))
	})

	It("goes on with a move of which a scheduler that died has evicted one of two pods", func() {
		givenRack("z1", "r4", 3, 2)
		kill(scheduler)
		givenPodGroup(namespace, name, needing(3, required(rackLevel)))
		annotate("gang", "1s")
		scheduler = startScheduler()
		owner := &replacing{namespace: namespace, gang: name, leaves: map[string]int{"": 3}}
		owner.once(ctx)
		Expect(eventuallyBound(namespace, gangOf(name), 3).domains(rackLevel)).To(Equal([]string{"/r4"}))
		Eventually(scheduled(namespace, name)).Should(withReason(scheduling.ReasonPlaced))
		givenRack("z1", "r3", 3, 2)
		loseOne(nodesOf(namespace, gangOf(name)))
		owner.once(ctx)
		Eventually(planned(namespace, name)).Should(withReason(scheduling.ReasonMoving))
		kill(scheduler)
		for one := range nodesOf(namespace, gangOf(name)) {
			evict(namespace, one)
			break
		}
		scheduler = startScheduler()
		owner.start()
		Eventually(scheduled(namespace, name)).Should(withReason(scheduling.ReasonPlaced))
		Expect(eventuallyBound(namespace, gangOf(name), 3).domains(rackLevel)).To(Equal([]string{"/r3"}))
		Eventually(planned(namespace, name)).Should(BeZero())
	})

	It("keeps the room elsewhere from others from when it is decided", func() {
		kill(scheduler)
		scheduler = startScheduler()
		owner, a, b := standing("subgroup", "3s")
		owner.stop() // So that the move goes on until the thief has come.
		loseOne(a)
		owner.once(ctx)
		Eventually(planned(namespace, name)).Should(withReason(scheduling.ReasonMoving))
		givenPodGroup(namespace, "thief", needing(1, required(rackLevel)))
		givenPods(namespace, "thief", "", 1, 2)
		owner.start()
		movedToThird(b)
	})
})

func nodesOf(namespace, selector string) map[string]string {
	GinkgoHelper()
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	Expect(err).NotTo(HaveOccurred())
	nodes := map[string]string{}
	for _, found := range pods.Items {
		if found.Spec.NodeName != "" && found.DeletionTimestamp == nil {
			nodes[found.Name] = found.Spec.NodeName
		}
	}
	return nodes
}

// seatsOf returns how many seats the status of a PodGroup lists.
func seatsOf(namespace, name string) func() int {
	return func() (seats int) {
		podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, told := range podGroup.Status.Seats {
			seats += len(told.Nodes)
		}
		return seats
	}
}

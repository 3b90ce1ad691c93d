package schedulerserver_test

import (
	"flag"
	"fmt"
	"math/rand/v2"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var repeats = flag.Int("repeats", 6, "how often gangs compete at random, and are disturbed half as often")

// competitor is one of many gangs that want the same zone.
type competitor struct {
	name string
	spec scheduling.PodGroupSpec
	// pods is how many each leaf has, all of them needed.
	pods map[string]int
}

func (c competitor) size() int {
	size := 0
	for _, count := range c.pods {
		size += count
	}
	return size
}

// competitors returns gangs of different sizes, every third one of two levels.
func competitors(count int) []competitor {
	var all []competitor
	for i := range count {
		made := competitor{name: fmt.Sprintf("g%02d", i)}
		if i%3 == 2 {
			made.pods = map[string]int{"a": 2, "b": 1 + i%2}
			made.spec = scheduling.PodGroupSpec{TopologyConstraint: required(zoneLevel), SubGroups: []scheduling.SubGroup{
				leaf("a", 2, required(rackLevel)), leaf("b", int32(1+i%2), required(rackLevel)),
			}}
		} else {
			made.pods = map[string]int{"": 2 + i%4}
			made.spec = needing(int32(2+i%4), required(rackLevel))
		}
		all = append(all, made)
	}
	return all
}

// create creates the PodGroup and the pods of all gangs in one random order.
func createMixed(namespace string, gangs []competitor) {
	GinkgoHelper()
	var steps []func()
	for _, gang := range gangs {
		steps = append(steps, func() { givenPodGroup(namespace, gang.name, gang.spec) })
		for leaf, count := range gang.pods {
			for i := range count {
				made := pod(namespace, gang.name, leaf, fmt.Sprintf("%s-%s-%d", gang.name, leaf+"x", i), 1)
				steps = append(steps, func() { create(made) })
			}
		}
	}
	rand.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps {
		step()
	}
}

// settled waits until every gang has an answer, no gang is partly bound, and no waiting gang would fit, and returns the
// running gangs. The answer of a waiting gang may be from before others left.
func settled(namespace string, gangs []competitor, perRack map[string]int) map[string]bool {
	GinkgoHelper()
	standing := map[string]bool{}
	Eventually(func(g Gomega) {
		clear(standing)
		for _, gang := range gangs {
			bound := len(placementOf(namespace, gangOf(gang.name)))
			g.Expect(bound).To(Or(BeZero(), Equal(gang.size())), "pods with a node of gang %s", gang.name)
			answer := scheduled(namespace, gang.name)()
			if bound > 0 {
				standing[gang.name] = true
				g.Expect(answer).To(withReason(scheduling.ReasonPlaced), "gang %s", gang.name)
			} else {
				g.Expect(answer).To(withReason(scheduling.ReasonInfeasible), "gang %s", gang.name)
			}
		}
		expectNoRoom(g, namespace, gangs, standing, perRack)
	}).Should(Succeed())
	return standing
}

// expectNoRoom expects that no waiting gang would fit.
func expectNoRoom(
	g Gomega, namespace string, gangs []competitor, standing map[string]bool, perRack map[string]int,
) {
	free := map[string]int{}
	for rack, gpus := range perRack {
		free[rack] = gpus
	}
	for _, labels := range placementOf(namespace, "") {
		free[labels[rackLevel]]--
	}
	widest, total := 0, 0
	for rack, left := range free {
		g.Expect(left).To(BeNumerically(">=", 0), "free GPUs of rack %s", rack)
		widest, total = max(widest, left), total+left
	}
	for _, gang := range gangs {
		if standing[gang.name] {
			continue
		}
		if len(gang.pods) == 1 {
			g.Expect(gang.size()).To(BeNumerically(">", widest), "gang %s waits, and the widest rack has room", gang.name)
			continue
		}
		fits := twoFit(gang.pods["a"], gang.pods["b"], free)
		g.Expect(fits).To(BeFalse(), "gang %s waits, and its two groups fit: %v", gang.name, free)
	}
}

func twoFit(a, b int, free map[string]int) bool {
	for first := range free {
		for second := range free {
			if first == second && free[first] >= a+b || first != second && free[first] >= a && free[second] >= b {
				return true
			}
		}
	}
	return false
}

var _ = Describe("twelve gangs that compete for one zone", func() {
	for run := range *repeats {
		It(fmt.Sprintf("end with as many bound as fit, whole ones only, whatever happens on the way: run %d", run), func() {
			namespace := givenNamespace()
			givenTopology()
			perRack := map[string]int{"r1": 6, "r2": 6, "r3": 4}
			givenRack("z1", "r1", 3, 2)
			givenRack("z1", "r2", 2, 3)
			givenRack("z1", "r3", 4, 1)
			gangs := competitors(12)
			scheduler := startScheduler()
			createMixed(namespace, gangs[:8])
			if run%2 == 0 {
				kill(scheduler)
				startScheduler()
			}
			standing := settled(namespace, gangs[:8], perRack)

			// Some that stand leave while others come.
			for name := range standing {
				if rand.IntN(2) == 0 {
					deletePods(namespace, gangOf(name))
					gangs = withoutGang(gangs, name)
					Expect(packtree.SchedulingV2alpha2().PodGroups(namespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
				}
			}
			createMixed(namespace, gangs[len(gangs)-4:])
			settled(namespace, gangs, perRack)
		})
	}
})

func withoutGang(gangs []competitor, name string) []competitor {
	var rest []competitor
	for _, gang := range gangs {
		if gang.name != name {
			rest = append(rest, gang)
		}
	}
	return rest
}

var _ = Describe("a gang with pods of another scheduler", func() {
	It("says whose they are at once, and goes when that one has bound them", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 4)
		startScheduler()
		givenPodGroup(namespace, "mixed", needing(3, required(rackLevel)))
		givenPods(namespace, "mixed", "", 2, 1)
		foreign := pod(namespace, "mixed", "", "mixed-foreign", 1)
		foreign.Spec.SchedulerName = corev1.DefaultSchedulerName
		create(foreign)
		Eventually(scheduled(namespace, "mixed")).Should(And(withReason(scheduling.ReasonIncomplete),
			HaveField("Message", ContainSubstring("pod mixed-foreign waits for another scheduler, default-scheduler"))))
		bind(namespace, "mixed-foreign", "z1-r1-1")
		eventuallyBound(namespace, gangOf("mixed"), 3)
	})
})

func bind(namespace, pod, node string) {
	GinkgoHelper()
	Expect(kube.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})).To(Succeed())
}

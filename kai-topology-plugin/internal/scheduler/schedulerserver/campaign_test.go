package schedulerserver_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var (
	rounds = flag.Int("failure-rounds", 3, "how often nodes of a rack fail at random")
	// In the third round of this one a gang for which room is held elsewhere gets whole again where it stands, since
	// another one moves.
	campaignSeed = flag.Uint64("failure-seed", 1795551568, "seed of what fails")
)

// racksOfCampaign has the number of nodes of each rack. A node takes one pod.
var racksOfCampaign = map[string]int{"z1-r1": 18, "z1-r2": 18, "z1-r3": 6, "z2-r1": 12, "z2-r2": 8}

// campaign is gangs on racks with failing nodes.
type campaign struct {
	random    *rand.Rand
	namespace string
	scheduler *exec.Cmd
	// sizes has the pods of each subgroup of each gang.
	sizes map[string]map[string]int
}

// standing is where the pods of a gang are: the node of each, by subgroup and name.
type standing map[string]map[string]string

func (c *campaign) standing(gang string) standing {
	GinkgoHelper()
	at := standing{}
	for leaf := range c.sizes[gang] {
		at[leaf] = nodesOf(c.namespace, leafOf(gang, leaf))
	}
	return at
}

// come creates gangs of up to three subgroups, each in one rack, until that many nodes of ten are in use. Gangs that do
// not fit are deleted again.
func (c *campaign) come(round int) {
	GinkgoHelper()
	nodes := 0
	for _, size := range racksOfCampaign {
		nodes += size
	}
	free := nodes * (3 + c.random.IntN(5)) / 10
	for number := 0; nodes > free; number++ {
		name, sizes := fmt.Sprintf("g%d-%d", round, number), map[string]int{}
		var groups []scheduling.SubGroup
		for leaves := range 1 + c.random.IntN(3) {
			count := 1 + c.random.IntN(5)
			sizes[fmt.Sprint("s", leaves)] = count
			groups = append(groups, leaf(fmt.Sprint("s", leaves), int32(count), required(rackLevel)))
			nodes -= count
		}
		spec := scheduling.PodGroupSpec{SubGroups: groups}
		if c.random.IntN(2) == 0 {
			spec.TopologyConstraint = required(zoneLevel)
		}
		podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, Annotations: map[string]string{
			scheduling.AnnotationRepairMove: scheduling.RepairMoveGang, scheduling.AnnotationRepairAfter: "1h",
		}}, Spec: spec}
		_, err := packtree.SchedulingV2alpha2().PodGroups(c.namespace).Create(ctx, podGroup, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		c.sizes[name] = sizes
		c.owner(name).once(ctx)
		Eventually(scheduled(c.namespace, name)).Should(Or(withReason(scheduling.ReasonPlaced), withReason(scheduling.ReasonInfeasible)))
		if scheduled(c.namespace, name)().Reason == scheduling.ReasonInfeasible {
			c.leave(name)
		}
	}
}

func (c *campaign) owner(gang string) *replacing {
	return &replacing{namespace: c.namespace, gang: gang, leaves: c.sizes[gang], made: c.random.IntN(1 << 40)}
}

func (c *campaign) leave(gang string) {
	GinkgoHelper()
	deletePods(c.namespace, gangOf(gang))
	Expect(packtree.SchedulingV2alpha2().PodGroups(c.namespace).Delete(ctx, gang, metav1.DeleteOptions{})).To(Succeed())
	delete(c.sizes, gang)
}

// fail chooses nodes of a rack in which gangs stand: few or many, one of them with a pod.
func (c *campaign) fail(before map[string]standing) (failed []string) {
	var taken []string
	for _, gang := range before {
		for _, pods := range gang {
			taken = slices.AppendSeq(taken, maps.Values(pods))
		}
	}
	slices.Sort(taken)
	failed = []string{taken[c.random.IntN(len(taken))]}
	rack := rackOf(failed[0])
	most := racksOfCampaign[rack]
	if c.random.IntN(2) == 0 {
		most = min(3, most)
	}
	for _, number := range c.random.Perm(racksOfCampaign[rack])[:c.random.IntN(most)] {
		if name := fmt.Sprintf("%s-%d", rack, number); name != failed[0] {
			failed = append(failed, name)
		}
	}
	return failed
}

// without is how the gangs, as they stand, would be repaired without some nodes, by gang.
func (c *campaign) without(failed []string) map[string]repair.Loss {
	GinkgoHelper()
	cluster := inventory.New()
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	pods, err := kube.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	podGroups, err := packtree.SchedulingV2alpha2().PodGroups(c.namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	topology, err := packtree.KaiV1alpha1().Topologies().Get(ctx, topologyName, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	for i := range nodes.Items {
		cluster.Nodes = append(cluster.Nodes, &nodes.Items[i])
	}
	for i := range pods.Items {
		cluster.Pods = append(cluster.Pods, &pods.Items[i])
	}
	for i := range podGroups.Items {
		cluster.PodGroups = append(cluster.PodGroups, &podGroups.Items[i])
	}
	cluster.Topologies[topologyName] = topology
	losses, err := repair.Without(ctx, cluster, failed)
	Expect(err).NotTo(HaveOccurred())
	byGang := map[string]repair.Loss{}
	for _, loss := range losses {
		byGang[loss.Gang.Name] = loss
	}
	return byGang
}

// lose removes nodes at once, and then their pods, which are created again as long as the round lasts. The scheduler is
// stopped meanwhile: otherwise it would give room to the gangs that it hears of first.
func (c *campaign) lose(failed []string) (stop func()) {
	GinkgoHelper()
	kill(c.scheduler)
	defer func() { c.scheduler = startScheduler() }()
	together(failed, takeNode)
	pods, err := kube.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	var gone []string
	for _, pod := range pods.Items {
		if slices.Contains(failed, pod.Spec.NodeName) {
			gone = append(gone, pod.Name)
		}
	}
	together(gone, func(name string) { deletePod(c.namespace, name) })
	until, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	for gang := range c.sizes {
		owner := c.owner(gang)
		owner.once(ctx)
		ended.Go(func() {
			for until.Err() == nil {
				owner.once(until)
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	return func() { cancel(); ended.Wait() }
}

func together(names []string, do func(string)) {
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() { defer GinkgoRecover(); do(name) })
	}
	all.Wait()
}

// keptOf are the pods on nodes that have not failed, with these nodes.
func keptOf(pods map[string]string, failed []string) map[string]string {
	kept := maps.Clone(pods)
	maps.DeleteFunc(kept, func(_, node string) bool { return slices.Contains(failed, node) })
	return kept
}

// rackOf is the rack of a node, with its zone.
func rackOf(node string) string { return node[:strings.LastIndex(node, "-")] }

// release has gangs moved once it is said of all gangs whether they move: a scheduler that has not heard of each loss yet
// plans for the others alone.
func (c *campaign) release(losses map[string]repair.Loss, said string) {
	GinkgoHelper()
	moves := func(gang string) bool { return len(losses[gang].Plan.Relocations) > 0 }
	Eventually(func(g Gomega) {
		for gang := range c.sizes {
			ahead := planned(c.namespace, gang)().Reason == scheduling.ReasonMoveAhead
			g.Expect(ahead).To(Equal(moves(gang)), "%s is to move; %s", gang, said)
		}
	}).Should(Succeed())
	for gang := range c.sizes {
		if moves(gang) {
			patchPodGroup(c.namespace, gang, fmt.Sprintf(`{"metadata":{"annotations":{%q:"0s"}}}`, scheduling.AnnotationRepairAfter))
		}
	}
}

// undecided reports whether the order of events decides what becomes of a gang that does not move: the room that others
// leave goes to a gang for which there was no place before, or to one that was to stay there.
func undecided(losses map[string]repair.Loss, gang string) bool {
	moving, stuck := false, false
	for _, loss := range losses {
		moving = moving || len(loss.Plan.Relocations) > 0
		stuck = stuck || loss.Plan.Reason == scheduling.ReasonNoPlace
	}
	loss, lost := losses[gang]
	return lost && moving && stuck && len(loss.Plan.Relocations) == 0
}

// judge compares what became of a gang with its plan: subgroups that were to move are elsewhere as a whole, and no pod of
// another has moved.
func (c *campaign) judge(gang string, before standing, failed []string, losses map[string]repair.Loss, said string) {
	GinkgoHelper()
	after, plan := c.standing(gang), losses[gang].Plan
	for leaf, was := range before {
		kept, is := keptOf(was, failed), after[leaf]
		moved := slices.ContainsFunc(plan.Relocations, func(move repair.Relocation) bool {
			return move.SubGroup == leaf || move.SubGroup == scheduling.RootGroup
		})
		for pod, node := range kept {
			if moved {
				Expect(is).NotTo(HaveKey(pod), "%s of %s moves as a whole; %s", leaf, gang, said)
			} else {
				Expect(is).To(HaveKeyWithValue(pod, node), "%s of %s stays; %s", leaf, gang, said)
			}
		}
		racks := map[string]bool{}
		for _, node := range is {
			racks[rackOf(node)] = true
		}
		Expect(len(racks)).To(BeNumerically("<=", 1), "%s of %s stands in %v; %s", leaf, gang, racks, said)
		if plan.Reason != scheduling.ReasonNoPlace && !undecided(losses, gang) {
			Expect(is).To(HaveLen(c.sizes[gang][leaf]))
		}
	}
}

var _ = Describe("nodes of a rack that fail at random", func() {
	It("have their gangs repaired as what-if says, and nothing moved that did not have to be", func() {
		c := &campaign{random: rand.New(rand.NewPCG(*campaignSeed, 0)), namespace: givenNamespace(), sizes: map[string]map[string]int{}}
		givenTopology()
		for rack, size := range racksOfCampaign {
			zone, name, _ := strings.Cut(rack, "-")
			givenRack(zone, name, size, 2)
		}
		c.scheduler = startScheduler()
		total := map[string]int{}
		for round := range *rounds {
			By(fmt.Sprintf("round %d with seed %d", round, *campaignSeed))
			c.come(round)
			before := map[string]standing{}
			for gang := range c.sizes {
				before[gang] = c.standing(gang)
			}
			failed := c.fail(before)
			losses := c.without(failed)
			said := fmt.Sprintf("failed: %v; %+v", failed, losses)
			stop := c.lose(failed)
			c.release(losses, said)
			settled := func(g Gomega) {
				for gang := range c.sizes {
					condition := scheduled(c.namespace, gang)()
					if undecided(losses, gang) {
						g.Expect(condition.Reason).To(BeElementOf(scheduling.ReasonPlaced, scheduling.ReasonBelowMinimum,
							scheduling.ReasonInfeasible), "%s; %s", gang, said)
						continue
					}
					if losses[gang].Plan.Reason != scheduling.ReasonNoPlace {
						g.Expect(condition).To(withReason(scheduling.ReasonPlaced), "%s; %s", gang, said)
						for leaf, count := range c.sizes[gang] { // The condition may be that of before.
							g.Expect(nodesOf(c.namespace, leafOf(gang, leaf))).To(HaveLen(count), "%s of %s; %s", leaf, gang, said)
						}
						g.Expect(planned(c.namespace, gang)()).To(BeZero(), "%s; %s", gang, said)
						g.Expect(seatsOf(c.namespace, gang)()).To(BeZero(), "%s; %s", gang, said)
						continue
					}
					if condition.Reason == scheduling.ReasonBelowMinimum {
						g.Expect(planned(c.namespace, gang)()).To(withReason(scheduling.ReasonNoPlace), "%s; %s", gang, said)
						continue
					}
					g.Expect(condition).To(withReason(scheduling.ReasonInfeasible), "%s; %s", gang, said)
				}
			}
			Eventually(settled).Should(Succeed())
			for gang, was := range before {
				c.judge(gang, was, failed, losses, said)
			}
			for _, loss := range losses {
				total[fmt.Sprintf("gangs %q", loss.Plan.Reason)]++
				for _, move := range loss.Plan.Relocations {
					total["pods moved"] += move.Pods
				}
			}
			total["nodes failed"] += len(failed)
			stop()
			for gang := range maps.Clone(c.sizes) {
				c.leave(gang)
			}
			for _, name := range failed {
				c.restore(name)
			}
			AddReportEntry("rounds", fmt.Sprintf("%d: %v", round+1, total), ReportEntryVisibilityFailureOrVerbose)
		}
		fmt.Fprintf(GinkgoWriter, "%d rounds with seed %d: %v\n", *rounds, *campaignSeed, total)
	})
})

// restore makes a node again.
func (c *campaign) restore(name string) {
	GinkgoHelper()
	parts := strings.Split(name, "-")
	var number int
	_, err := fmt.Sscan(parts[2], &number)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() bool {
		_, err := kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).Should(BeTrue())
	givenNode(parts[0], parts[1], number, 2)
}

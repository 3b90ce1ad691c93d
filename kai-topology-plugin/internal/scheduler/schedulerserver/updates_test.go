package schedulerserver_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var (
	updates    = flag.Int("updates", 20, "how often pods of gangs are replaced while others wait for their room")
	updateSeed = flag.Uint64("update-seed", 1, "seed of which pods are replaced, and when")
)

var _ = Describe("pods that are replaced while others wait for their room", func() {
	It("have their seats, and their domain", func() {
		const racks, size, waiting = 4, 4, 24
		random := rand.New(rand.NewPCG(*updateSeed, 0))
		namespace := givenNamespace()
		givenTopology()
		scheduler := startScheduler()
		defer kill(scheduler)
		var owners []*replacing
		for i := range racks {
			givenRack("z1", fmt.Sprint("r", i), size, 2)
			name := fmt.Sprint("stands-", i)
			givenPodGroup(namespace, name, scheduling.PodGroupSpec{
				SubGroups: []scheduling.SubGroup{leaf("w", size, required(rackLevel))},
			})
			owners = append(owners, &replacing{namespace: namespace, gang: name, leaves: map[string]int{"w": size}})
			owners[i].once(ctx)
			eventuallyBound(namespace, gangOf(name), size)
		}
		for i := range waiting { // Of the same priority, some of them for one rack.
			name, pods, spec := fmt.Sprint("waits-", i), 1+i%size, scheduling.PodGroupSpec{}
			if i%2 == 0 {
				spec.TopologyConstraint = required(rackLevel)
			}
			spec.MinMember = ptr.To(int32(pods))
			givenPodGroup(namespace, name, spec)
			givenPods(namespace, name, "", pods, 2)
		}
		for i := range waiting {
			Eventually(scheduled(namespace, fmt.Sprint("waits-", i))).Should(withReason(scheduling.ReasonInfeasible))
		}
		replaced := 0
		for update := range *updates {
			owner := owners[random.IntN(racks)]
			before := nodesOf(namespace, gangOf(owner.gang))
			leaving := slices.Sorted(maps.Keys(before))
			random.Shuffle(size, func(i, j int) { leaving[i], leaving[j] = leaving[j], leaving[i] })
			leaving = leaving[:1+random.IntN(size)]
			rack := rackOf(before[leaving[0]])
			together(leaving, func(name string) { deletePod(namespace, name) })
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond) // Their owner takes its time.
			owner.once(ctx)
			Eventually(nodesOf).WithArguments(namespace, gangOf(owner.gang)).WithPolling(20*time.Millisecond).Should(
				HaveLen(size), "update %d of %s", update, owner.gang)
			for pod, node := range nodesOf(namespace, gangOf(owner.gang)) {
				Expect(rackOf(node)).To(Equal(rack), "update %d: %s", update, pod)
			}
			for pod, node := range nodesOf(namespace, "") {
				Expect(strings.HasPrefix(pod, "waits-")).To(BeFalse(), "update %d: %s stands on %s", update, pod, node)
			}
			replaced += len(leaving)
		}
		fmt.Fprintf(GinkgoWriter, "%d pods replaced in %d updates with seed %d\n", replaced, *updates, *updateSeed)
	})
})

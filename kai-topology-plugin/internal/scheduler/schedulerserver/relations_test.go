package schedulerserver_test

import (
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// near has a PodGroup stand in a rack in which another one has pods.
func near(gang string) string {
	return fmt.Sprintf(`[{"name": "near", "near": %q, "topology": %q, "level": %q}]`, gang, topologyName, rackLevel)
}

var _ = Describe("relations", func() {
	It("places gangs that are near one another in a circle in one rack, whichever comes first", func() {
		namespace := givenNamespace()
		givenTopology()
		for rack := range 4 {
			givenRack("z1", fmt.Sprintf("r%d", rack), 2, 3)
		}
		startScheduler()
		circle := map[string]string{"c": near("b"), "b": near("a"), "a": near("b")}
		for _, name := range []string{"c", "b"} {
			givenRelatedPodGroup(namespace, name, circle[name], needing(2, preferred(rackLevel)))
			givenPods(namespace, name, "", 2, 1)
			Eventually(scheduled(namespace, name)).Should(HaveField("Message", ContainSubstring("near")), "%s waits", name)
		}
		givenRelatedPodGroup(namespace, "a", circle["a"], needing(2, preferred(rackLevel)))
		givenPods(namespace, "a", "", 2, 1)
		racks := map[string]bool{}
		for name := range circle {
			for _, rack := range eventuallyBound(namespace, gangOf(name), 2).domains(zoneLevel, rackLevel) {
				racks[rack] = true
			}
		}
		Expect(racks).To(HaveLen(1))
	})

	It("brings each worker beside the other of its pair that a scheduler that ended had bound", func() {
		namespace := givenNamespace()
		givenTopology()
		for rack := range 6 {
			givenRack("z1", fmt.Sprintf("r%d", rack), 2, 2)
		}
		spec := scheduling.PodGroupSpec{TopologyConstraint: required(zoneLevel)}
		var workers []string
		for i := range 3 {
			pair := fmt.Sprintf("pair-%d", i)
			spec.SubGroups = append(spec.SubGroups, scheduling.SubGroup{Name: pair, TopologyConstraint: required(rackLevel)})
			for _, role := range []string{"prefill", "decode"} {
				name := fmt.Sprintf("%s-%d", role, i)
				workers = append(workers, name)
				spec.SubGroups = append(spec.SubGroups, in(pair, leaf(name, 2, nil)))
			}
		}
		givenRelatedPodGroup(namespace, "pairs", fmt.Sprintf(
			`[{"name": "pairs", "subGroups": ["pair-0", "pair-1", "pair-2"], "level": %q, "maxPerDomain": 1}]`, rackLevel), spec)
		for _, worker := range workers {
			givenPods(namespace, "pairs", worker, 2, 1)
		}
		for worker, rack := range map[string]string{"prefill-0": "r4", "decode-2": "r2"} {
			for i := range 2 {
				bind(namespace, fmt.Sprintf("pairs-%s-%d", worker, i), fmt.Sprintf("z1-%s-%d", rack, i))
			}
		}
		startScheduler()
		eventuallyBound(namespace, gangOf("pairs"), 12)
		perRack := map[string]int{}
		for _, worker := range workers {
			for _, rack := range eventuallyBound(namespace, leafOf("pairs", worker), 2).domains(rackLevel) {
				perRack[rack]++
			}
		}
		Expect(slices.Collect(maps.Values(perRack))).To(HaveEach(2), "workers by rack: %v", perRack)
		Expect(perRack).To(And(HaveKey("/r4"), HaveKey("/r2")))
	})
})

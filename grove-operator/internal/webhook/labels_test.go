package webhook_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

var _ = Describe("The labels of nodes", Ordered, func() {
	var made *grovev1alpha1.ClusterTopology
	BeforeAll(func() { made = useTopology("labelled", "rack", "host", "numa") })

	// observe writes the coverage of rack, as the controller of ClusterTopologies does.
	observe := func(nodes, racks int32) {
		GinkgoHelper()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(made), made)).To(Succeed())
		made.Status.ObservedGeneration = made.Generation
		made.Status.Levels = []grovev1alpha1.TopologyLevelStatus{{Domain: "rack", Nodes: nodes, DomainCount: racks}}
		Expect(c.Status().Update(ctx, made)).To(Succeed())
	}
	// heard are the warnings about a new set with a constraint.
	heard := func(constraint string) []string {
		GinkgoHelper()
		return warnings(func(attentive client.Client) {
			set := written("s",
				template("clusterTopologyName: labelled, topologyConstraint: "+constraint+", cliques: ["+bare("a")+"]"))
			Expect(attentive.Create(ctx, set, client.DryRunAll)).To(Succeed())
		})
	}

	It("are missed at admission where a set requires a level that none carries", func() {
		Expect(heard("{packDomain: rack}")).To(BeEmpty(), "before the nodes are read")
		observe(0, 0)
		Expect(heard("{packDomain: rack}")).To(ConsistOf(
			ofTheSet +
				`: no node carries label example.com/rack of level rack of ClusterTopology "labelled": the pods wait until one does`))
		Expect(heard("{pack: {preferred: rack}}")).To(BeEmpty(), "a preference lets nothing wait")
		observe(3, 1)
		Expect(heard("{packDomain: rack}")).To(BeEmpty(), "when there is a rack")
	})

	It("say nothing about NUMA zones, of which a set is warned whose pods no kubelet aligns", func() {
		observe(3, 1)
		Expect(heard("{packDomain: numa}")).To(ConsistOf(HavePrefix(ofTheSet + ": a kubelet takes from one NUMA zone")))
	})
})

// A ClusterTopology would never become ready if the scheduler's kind refused its Topology.
var _ = Describe("The keys of a ClusterTopology", func() {
	It("are accepted exactly where the scheduler's Topology takes them", func() {
		keys := []string{"kubernetes.io/hostname", "example.com/NUMA", "example.com/other", "example.com/another"}
		accepted, refused := 0, 0
		for rack := range keys {
			for host := range keys {
				for numa := range keys {
					if rack == host || host == numa || rack == numa {
						continue
					}
					written := fixture.Topology(fmt.Sprintf("keys-%d%d%d", rack, host, numa), "rack", "host", "numa")
					for i, key := range []int{rack, host, numa} {
						written.Spec.Levels[i].Key = keys[key]
					}
					ours := c.Create(ctx, written, client.DryRunAll)
					theirs := c.Create(ctx, topology.ForScheduler(topology.Of(written)), client.DryRunAll)
					if theirs == nil {
						Expect(ours).NotTo(HaveOccurred())
						accepted++
						continue
					}
					Expect(causes(theirs)).To(ConsistOf("spec.levels"))
					Expect(causes(ours)).To(HaveEach(HaveSuffix(".key")), "%v", written.Spec.Levels)
					refused++
				}
			}
		}
		Expect(accepted).To(BeNumerically(">", 0))
		Expect(refused).To(BeNumerically(">", 0))
	})

	It("that cannot be are turned down with where and what to do, as are levels, also when a topology changes", func() {
		written := fixture.Topology("cannot-be", "zone", "rack")
		written.Spec.Levels[1] = grovev1alpha1.TopologyLevel{Domain: "racks", Key: "a key"}
		changed := generated()
		changed.Spec = written.Spec
		for _, err := range []error{c.Create(ctx, written, client.DryRunAll), c.Update(ctx, changed, client.DryRunAll)} {
			Expect(causes(err)).To(ConsistOf("spec.levels[1].domain", "spec.levels[1].key"))
			Expect(err).To(MatchError(ContainSubstring(`spec.levels[1].key: Invalid value: "a key": must be the key of a node label: `)))
		}
	})

	It("are of one level at least, and of seven at most", func() {
		Expect(c.Create(ctx, fixture.Topology("none"), client.DryRunAll)).To(
			MatchError(ContainSubstring("spec.levels: Required value: a ClusterTopology needs at least one level")))
		written := fixture.Topology("eight", "region", "zone", "datacenter", "block", "rack", "host", "numa", "rack")
		Expect(c.Create(ctx, written, client.DryRunAll)).To(
			MatchError(ContainSubstring("spec.levels: Too many: 8: must have at most 7 items")))
	})
})

var _ = Describe("The form of a ClusterTopology", func() {
	It("is refused with where values of a wrong type are", func() {
		written := written("flawed", "{levels: [{domain: zone, key: 7}, {domain: [rack], key: a/c}]}")
		written.SetKind("ClusterTopology")
		written.SetNamespace("")
		err := c.Create(ctx, written)
		Expect(err).To(MatchError(ContainSubstring("spec.levels[0].key: must be a string, in quotes, not 7")))
		Expect(causes(err)).To(ConsistOf("spec.levels[0].key", "spec.levels[1].domain"))
	})

	It("is not looked at where the levels stay, and no change brings the finalizer back", func() {
		made := generated()
		Expect(c.Patch(ctx, made.DeepCopy(),
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)))).To(Succeed())
		Expect(c.Delete(ctx, made)).To(Succeed())
		Expect(c.Patch(ctx, made.DeepCopy(),
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Expect(c.Get(ctx, client.ObjectKeyFromObject(made), made)).To(MatchError(ContainSubstring("not found")))
	})
})

// generated is a new topology of the levels zone and rack.
func generated() *grovev1alpha1.ClusterTopology {
	GinkgoHelper()
	made := fixture.Topology("", "zone", "rack")
	made.GenerateName = "labelled-"
	Expect(c.Create(ctx, made)).To(Succeed())
	return made
}

package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

func topologyOf(levels ...string) *kai.Topology {
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{GenerateName: "topology-"}}
	for _, level := range levels {
		topology.Spec.Levels = append(topology.Spec.Levels, kai.TopologyLevel{NodeLabel: level})
	}
	return topology
}

// aliased has a level inside the host.
func aliased(key, alias string) *kai.Topology {
	topology := topologyOf("zone", hostname, key)
	topology.Spec.Levels[2].Alias = alias
	return topology
}

const hostname = "kubernetes.io/hostname"

// These rules are in the schema: they need no webhook.
var _ = Describe("A Topology", func() {
	DescribeTable("is turned down",
		func(ctx SpecContext, topology *kai.Topology, reason string) {
			Expect(asking.Create(ctx, topology)).To(MatchError(ContainSubstring(reason)))
		},
		Entry("without levels", topologyOf(), "spec.levels"),
		Entry("with a level twice", topologyOf("zone", "rack", "zone"), "each nodeLabel may name one level only"),
		Entry("with the host above a rack", topologyOf("zone", hostname, "rack"), "must be the narrowest level"),
		Entry("with two levels inside the host", topologyOf(hostname, "example.com/numa", "example.com/numa-core"),
			"must be the narrowest level"),
		Entry("with another alias inside the host", aliased("example.com/socket", "socket"), "must be the narrowest level"),
		Entry("with a label that no node can have", topologyOf("no spaces"), "spec.levels[0].nodeLabel"),
		Entry("with more than sixteen levels",
			topologyOf("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"),
			"spec.levels"),
	)

	DescribeTable("is taken",
		func(ctx SpecContext, topology *kai.Topology) { Expect(asking.Create(ctx, topology)).To(Succeed()) },
		Entry("with the host last", topologyOf("zone", "rack", hostname)),
		Entry("with NUMA inside the host", topologyOf("zone", hostname, "example.com/NUMA")),
		Entry("with a level of another name inside the host, which the alias says", aliased("example.com/socket", "numa")),
		Entry("without the host", topologyOf("topology.kubernetes.io/zone")),
	)

	It("keeps its levels", func(ctx SpecContext) {
		topology := topologyOf("zone", "rack")
		Expect(asking.Create(ctx, topology)).To(Succeed())
		change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"levels":[{"nodeLabel":"zone"}]}}`))
		Expect(asking.Patch(ctx, topology, change)).To(MatchError(ContainSubstring("levels are immutable")))
	})
})

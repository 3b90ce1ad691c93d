package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func number(n int32) *int32 { return &n }

func leaf(name, parent string) scheduling.SubGroup {
	return scheduling.SubGroup{Name: name, Parent: &parent, MinMember: number(1)}
}

func withLevels(sub scheduling.SubGroup, topology, required, preferred string) scheduling.SubGroup {
	sub.TopologyConstraint = &scheduling.TopologyConstraint{
		Topology: topology, RequiredTopologyLevel: required, PreferredTopologyLevel: preferred,
	}
	return sub
}

func podGroupOf(spec scheduling.PodGroupSpec) *scheduling.PodGroup {
	return &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{GenerateName: "gang-", Namespace: "default"}, Spec: spec}
}

func subGroups(groups ...scheduling.SubGroup) scheduling.PodGroupSpec {
	return scheduling.PodGroupSpec{SubGroups: groups}
}

var _ = Describe("PodGroup admission", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "network"}}
		for _, level := range []string{"zone", "block", "rack"} {
			topology.Spec.Levels = append(topology.Spec.Levels, kai.TopologyLevel{NodeLabel: level})
		}
		Expect(asking.Create(ctx, topology)).To(Succeed())
		Eventually(func() ([]string, error) {
			warnings.messages = nil
			err := asking.Create(ctx, podGroupOf(subGroups(withLevels(leaf("a", ""), "network", "rack", ""))))
			return warnings.messages, err
		}).Should(BeEmpty())
	})
	BeforeEach(func() { warnings.messages = nil })

	DescribeTable("turns down",
		func(ctx SpecContext, spec scheduling.PodGroupSpec, reason string) {
			err := asking.Create(ctx, podGroupOf(spec))
			Expect(err).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
			Expect(err).To(MatchError(ContainSubstring(reason)))
		},
		Entry("a cycle", subGroups(scheduling.SubGroup{Name: "a", Parent: new("b")},
			scheduling.SubGroup{Name: "b", Parent: new("a")}),
			`parents make a cycle: a → b → a; one of them needs another parent, or none`),
		Entry("minMember on a parent", subGroups(leaf("p", ""), leaf("a", "p")),
			`spec.subGroups[0].minMember: Invalid value: 1`),
		Entry("a negative minimum", scheduling.PodGroupSpec{MinMember: number(-1)}, `spec.minMember`),
	)

	DescribeTable("takes, with a warning,",
		func(ctx SpecContext, spec scheduling.PodGroupSpec, warning string) {
			Expect(asking.Create(ctx, podGroupOf(spec))).To(Succeed())
			Expect(warnings.messages).To(ConsistOf(ContainSubstring(warning)))
		},
		Entry("more children needed than there are",
			scheduling.PodGroupSpec{MinSubGroup: number(2), SubGroups: []scheduling.SubGroup{leaf("a", "")}},
			`spec.minSubGroup: Invalid value: 2`),
		Entry("an unknown Topology", subGroups(withLevels(leaf("a", ""), "nowhere", "rack", "")),
			`no Topology has this name: create it, or name another`),
	)

	It("judges a change of the spec, but lets minMember on a parent come about", func(ctx SpecContext) {
		podGroup := podGroupOf(subGroups(leaf("a", "")))
		Expect(asking.Create(ctx, podGroup)).To(Succeed())
		wrong := podGroup.DeepCopy()
		wrong.Spec.SubGroups[0].Parent = new("nobody")
		Expect(asking.Update(ctx, wrong)).To(MatchError(ContainSubstring("no subGroup has this name")))
		podGroup.Spec.SubGroups = append(podGroup.Spec.SubGroups, leaf("b", "a"))
		Expect(asking.Update(ctx, podGroup)).To(Succeed())
		Expect(warnings.messages).To(ConsistOf(ContainSubstring("use minSubGroup")))
	})

	It("does not judge again a spec that stays as it is", func(ctx SpecContext) {
		podGroup := podGroupOf(subGroups(withLevels(leaf("a", ""), "nowhere", "rack", "")))
		Expect(asking.Create(ctx, podGroup)).To(Succeed())
		warnings.messages = nil
		label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		Expect(asking.Patch(ctx, podGroup, label)).To(Succeed())
		Expect(warnings.messages).To(BeEmpty())
	})

	It("judges relations when they are written, and no others", func(ctx SpecContext) {
		related := func(annotation string) *scheduling.PodGroup {
			podGroup := podGroupOf(subGroups(withLevels(leaf("a", ""), "network", "rack", "")))
			podGroup.Annotations = map[string]string{scheduling.AnnotationRelations: annotation}
			return podGroup
		}
		err := asking.Create(ctx, related(`[{"name":"x","podsOf":"a","level":"rack","atMost":1}]`))
		Expect(err).To(MatchError(
			ContainSubstring(`metadata.annotations[packtree.dev/relations][0].atMost: Invalid value: unknown field`)))

		podGroup := related(`[{"name":"x","podsOf":"b","level":"rack","maxPerDomain":1}]`)
		Expect(asking.Create(ctx, podGroup)).To(Succeed())
		Expect(warnings.messages).To(ConsistOf(ContainSubstring(
			`metadata.annotations[packtree.dev/relations][0].podsOf: Invalid value: "b": no subGroup has this name: the gang waits until this is mended`)))

		podGroup.Annotations[scheduling.AnnotationRelations] = `[{}]`
		Expect(asking.Update(ctx, podGroup)).To(MatchError(ContainSubstring(`[0].name: Required value`)))
	})
})

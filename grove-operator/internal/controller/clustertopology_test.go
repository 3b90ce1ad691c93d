package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

func unstructuredOf(fields map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: fields}
}

var _ = Describe("A ClusterTopology", Ordered, func() {
	AfterAll(func() { start(levels("zone", "rack", "host")) })

	schedulerLevels := func(name string) func() []string {
		return func() []string {
			var labels []string
			topology := &kaiv1alpha1.Topology{}
			if c.Get(ctx, client.ObjectKey{Name: name}, topology) != nil {
				return nil
			}
			for _, level := range topology.Spec.Levels {
				labels = append(labels, level.NodeLabel)
			}
			return labels
		}
	}
	says := func(name, kind string) func() string {
		return func() string { return verdict(get("", name, &grovev1alpha1.ClusterTopology{}), kind) }
	}

	It("of an administrator has its own Topology, which follows its levels", func() {
		made := fixture.Topology("gb200", "zone", "rack")
		Expect(c.Create(ctx, made)).To(Succeed())
		Eventually(schedulerLevels("gb200")).Should(Equal([]string{"example.com/zone", "example.com/rack"}))
		Expect(metav1.GetControllerOf(get("", "gb200", &kaiv1alpha1.Topology{}))).To(HaveField("UID", made.UID))
		Eventually(says("gb200", grovev1alpha1.ClusterTopologyReady)).Should(Equal("True Usable"))
		setLevels("gb200", "zone", "block", "rack")
		Eventually(schedulerLevels("gb200")).Should(
			Equal([]string{"example.com/zone", "example.com/block", "example.com/rack"}))
	})

	It("takes the name from what a deleted one has left behind", func() {
		leaving := fixture.Topology("again", "zone")
		leaving.Finalizers = []string{"example.com/look"} // What the operator says last stands until it was looked at.
		Expect(c.Create(ctx, leaving)).To(Succeed())
		Eventually(schedulerLevels("again")).Should(Equal([]string{"example.com/zone"}))
		Expect(c.Delete(ctx, leaving)).To(Succeed())
		Eventually(says("again", grovev1alpha1.ClusterTopologyDeletionBlocked)).Should(
			Equal("True RequestsPending"))
		patch(leaving, `{"metadata":{"finalizers":null}}`) // A user does not wait for the operator.
		Eventually(gone(leaving)).Should(BeTrue())
		Expect(schedulerLevels("again")()).To(Equal([]string{"example.com/zone"}), "no garbage collector runs here")

		made := fixture.Topology("again", "rack")
		Expect(c.Create(ctx, made)).To(Succeed())
		Eventually(schedulerLevels("again")).Should(Equal([]string{"example.com/rack"}))
		Expect(metav1.GetControllerOf(get("", "again", &kaiv1alpha1.Topology{}))).To(HaveField("UID", made.UID))
		Eventually(says("again", grovev1alpha1.ClusterTopologyReady)).Should(Equal("True Usable"))
	})

	It("replaces a Topology whose NUMA zones have no alias yet", func() {
		const name = "aliased"
		older := &kaiv1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Name: name}}
		older.Spec.Levels = []kaiv1alpha1.TopologyLevel{{NodeLabel: "kubernetes.io/hostname"},
			{NodeLabel: "example.com/numa"}}
		Expect(c.Create(ctx, older)).To(Succeed())
		made := fixture.Topology(name, "numa")
		Expect(c.Create(ctx, made)).To(Succeed())
		Eventually(says(name, grovev1alpha1.ClusterTopologyReady)).Should(Equal("False OwnedByAnother"))
		older.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(made, grovev1alpha1.GroupVersion.WithKind("ClusterTopology"))}
		Expect(c.Update(ctx, older)).To(Succeed())
		Eventually(func(g Gomega) {
			live := &kaiv1alpha1.Topology{}
			g.Expect(c.Get(ctx, client.ObjectKey{Name: name}, live)).To(Succeed())
			g.Expect(live.Spec.Levels).To(Equal([]kaiv1alpha1.TopologyLevel{{NodeLabel: "kubernetes.io/hostname"},
				{NodeLabel: "example.com/numa", Alias: "numa"}}))
		}).Should(Succeed())
		Eventually(says(name, grovev1alpha1.ClusterTopologyReady)).Should(Equal("True Usable"))
	})

	It("that is deleted under a running set stays and counts as before, and goes after the set", func() {
		in := namespace()
		made := fixture.Topology("held", "zone")
		Expect(c.Create(ctx, made)).To(Succeed())
		Eventually(schedulerLevels("held")).Should(Equal([]string{"example.com/zone"}))
		set := createSet(in, `
metadata: {name: user}
spec: {replicas: 1, template: {clusterTopologyName: held, topologyConstraint: {packDomain: zone}, cliques: [{name: a, spec: {podSpec: {}}}]}}`)
		pods := podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "user-0-a"})
		Eventually(func() []string { return gates(pods()) }).Should(Equal([]string{""}))
		run(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "user-0-a"})
		Eventually(says("held", grovev1alpha1.ClusterTopologyDeletionBlocked)).Should(Equal("True InUse"))
		Expect(c.Delete(ctx, made)).To(Succeed())
		Consistently(func() error { return c.Get(ctx, client.ObjectKeyFromObject(made), made) }).Should(Succeed())
		Expect(made.Status.InUse).To(BeEquivalentTo(1))

		lost := pods()[0]
		Expect(c.Delete(ctx, &lost, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(gates(pods())).To(Equal([]string{""}))
			g.Expect(pods()[0].UID).NotTo(Equal(lost.UID))
		}).Should(Succeed(), "the pod is replaced")
		gang := get(in, "user-0", &schedulerv1alpha1.PodGang{})
		Expect(*gang.Spec.TopologyConstraint.PackConstraint.Required).To(Equal("example.com/zone"))
		Expect(condition(get(in, "user", &grovev1alpha1.PodCliqueSet{}),
			grovev1alpha1.ConditionTopologyLevelsUnavailable).Reason).To(
			Equal(grovev1alpha1.ReasonAllClusterTopologyLevelsAvailable))

		Expect(c.Delete(ctx, set)).To(Succeed())
		Eventually(func() bool { // There is no garbage collector here.
			for _, kind := range []client.Object{&grovev1alpha1.PodClique{}, &schedulerv1alpha1.PodGang{}} {
				_ = c.DeleteAllOf(ctx, kind, client.InNamespace(in))
			}
			return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(set), set))
		}).Should(BeTrue())
		Eventually(gone(made)).Should(BeTrue())
	})

	It("that loses a level takes the constraints from the gangs, and gives them back", func() {
		in := namespace()
		Expect(c.Create(ctx, fixture.Topology("drifting", "zone", "rack"))).To(Succeed())
		createSet(in, `
metadata: {name: user}
spec: {replicas: 1, template: {clusterTopologyName: drifting, topologyConstraint: {packDomain: rack}, cliques: [{name: a, spec: {podSpec: {}}}]}}`)
		constraint := func() *schedulerv1alpha1.TopologyConstraint {
			gang := &schedulerv1alpha1.PodGang{}
			if c.Get(ctx, client.ObjectKey{Namespace: in, Name: "user-0"}, gang) != nil {
				return nil
			}
			return gang.Spec.TopologyConstraint
		}
		levels := func() string {
			return verdict(get(in, "user", &grovev1alpha1.PodCliqueSet{}),
				grovev1alpha1.ConditionTopologyLevelsUnavailable)
		}
		Eventually(constraint).ShouldNot(BeNil())
		Eventually(levels).Should(Equal("False AllClusterTopologyLevelsAvailable"))
		setLevels("drifting", "zone")
		Eventually(constraint).Should(BeNil())
		Eventually(levels).Should(Equal("True ClusterTopologyLevelsUnavailable"))
		setLevels("drifting", "zone", "rack")
		Eventually(constraint).ShouldNot(BeNil())
		Eventually(levels).Should(Equal("False AllClusterTopologyLevelsAvailable"))
	})

	It("of the configuration goes when topology awareness is switched off, in use or not", func() {
		const name = grovev1alpha1.DefaultClusterTopologyName
		in := namespace()
		createSet(in, `
metadata: {name: user}
spec: {template: {topologyConstraint: {packDomain: zone}, cliques: [{name: a, spec: {podSpec: {}}}]}}`)
		Eventually(func() int32 { return get("", name, &grovev1alpha1.ClusterTopology{}).Status.InUse }).Should(
			BeNumerically(">", 0))
		start(levels())
		Eventually(func() bool {
			return apierrors.IsNotFound(c.Get(ctx, client.ObjectKey{Name: name}, &grovev1alpha1.ClusterTopology{}))
		}).Should(BeTrue())
	})
})

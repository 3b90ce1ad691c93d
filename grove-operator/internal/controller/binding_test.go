package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

var _ = Describe("A ClusterTopologyBinding", func() {
	ready := func(name string) func() string {
		return func() string {
			return verdict(get("", name, &grovev1alpha1.ClusterTopologyBinding{}), grovev1alpha1.ClusterTopologyReady)
		}
	}
	gangOf := func(in, set string) func(Gomega) string {
		return func(g Gomega) string {
			gang := &schedulerv1alpha1.PodGang{}
			g.Expect(c.Get(ctx, client.ObjectKey{Namespace: in, Name: set + "-0"}, gang)).To(Succeed())
			g.Expect(gang.Spec.TopologyConstraint).NotTo(BeNil())
			return gang.Annotations[grovev1alpha1.AnnotationTopologyName] + " " +
				*gang.Spec.TopologyConstraint.PackConstraint.Required
		}
	}
	use := func(in, set, topologyName, domain string) {
		createSet(in,
			"metadata: {name: "+set+"}\nspec: {replicas: 1, template: {topologyConstraint: {topologyName: "+topologyName+
				", packDomain: "+domain+"}, cliques: [{name: a, spec: {podSpec: {}}}]}}")
	}

	It("has domains of any name, and a Topology of its own", func() {
		in := namespace()
		made := fixture.Binding("halls", "hall", "rack", "nvlink-domain")
		Expect(c.Create(ctx, made)).To(Succeed())
		Eventually(ready("halls")).Should(Equal("True Usable"))
		Expect(metav1.GetControllerOf(get("", "halls", &kaiv1alpha1.Topology{}))).To(
			And(HaveField("UID", made.UID), HaveField("Kind", "ClusterTopologyBinding")))
		use(in, "user", "halls", "nvlink-domain")
		Eventually(gangOf(in, "user")).Should(Equal("halls example.com/nvlink-domain"))
		Eventually(
			func() int32 { return get("", "halls", &grovev1alpha1.ClusterTopologyBinding{}).Status.InUse }).Should(
			BeEquivalentTo(1))
		status := get("", "halls", &grovev1alpha1.ClusterTopologyBinding{}).Status
		Expect(status.Domains).To(Equal("hall,rack,nvlink-domain"))
		Expect(status.SchedulerTopologyStatuses).To(ConsistOf(And(
			HaveField("SchedulerName", "kai-scheduler"), HaveField("TopologyReference", "halls"),
			HaveField("InSync", true))))
		Expect(made.Finalizers).To(BeEmpty())
		Expect(get("", "halls", made).Finalizers).To(ContainElement(grovev1alpha1.FinalizerClusterTopology))
	})

	It("leaves the Topology that it names alone, compares it, and has gangs refer to it", func() {
		in := namespace()
		binding := fixture.Binding("borrowing", "spine", "leaf")
		binding.Spec.SchedulerTopologyBindings = []grovev1alpha1.SchedulerTopologyBinding{
			{SchedulerName: "kai-scheduler", TopologyReference: "theirs"},
			{SchedulerName: "other", TopologyReference: "unknown"},
		}
		Expect(c.Create(ctx, binding)).To(Succeed())
		Eventually(ready("borrowing")).Should(Equal("False Pending"), "there is none yet")

		theirs := &kaiv1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
		theirs.Spec.Levels = []kaiv1alpha1.TopologyLevel{{NodeLabel: "example.com/leaf"}}
		Expect(c.Create(ctx, theirs)).To(Succeed())
		Eventually(ready("borrowing")).Should(Equal("False Differs"))
		Expect(get("", "borrowing", binding).Status.SchedulerTopologyStatuses).To(ContainElement(And(
			HaveField("InSync", false), HaveField("TopologyReference", "theirs"),
			HaveField("Message", ContainSubstring("make them the same")))))
		Expect(c.Delete(ctx, theirs)).To(Succeed())
		again := &kaiv1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
		again.Spec.Levels = []kaiv1alpha1.TopologyLevel{{NodeLabel: "example.com/spine"},
			{NodeLabel: "example.com/leaf"}}
		Expect(c.Create(ctx, again)).To(Succeed())
		Eventually(ready("borrowing")).Should(Equal("True Usable"))

		use(in, "user", "borrowing", "leaf")
		Eventually(gangOf(in, "user")).Should(Equal("theirs example.com/leaf"))
		Expect(get("", "theirs", again).OwnerReferences).To(BeEmpty())
		Expect(apierrors.IsNotFound(c.Get(ctx, client.ObjectKey{Name: "borrowing"}, &kaiv1alpha1.Topology{}))).To(
			BeTrue())
	})

	It("with the name of a ClusterTopology is not found, says so, and goes when it is deleted", func() {
		Expect(c.Create(ctx, fixture.Topology("both", "zone"))).To(Succeed())
		binding := fixture.Binding("both", "hall")
		Expect(c.Create(ctx, binding)).To(Succeed())
		Eventually(ready("both")).Should(Equal("False NameTaken"))
		Eventually(func(g Gomega) {
			made := &kaiv1alpha1.Topology{}
			g.Expect(c.Get(ctx, client.ObjectKey{Name: "both"}, made)).To(Succeed())
			g.Expect(made.Spec.Levels).To(ConsistOf(HaveField("NodeLabel", "example.com/zone")))
		}).Should(Succeed())
		Expect(c.Delete(ctx, binding)).To(Succeed())
		Eventually(gone(binding)).Should(BeTrue())
	})
})

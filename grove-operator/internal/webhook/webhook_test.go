package webhook_test

import (
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// set is a PodCliqueSet of a manifest's template, in the namespace default and with a name of the API server's choice.
func set(template string) *grovev1alpha1.PodCliqueSet {
	GinkgoHelper()
	made := fixture.Raw(GinkgoTB(), "metadata: {generateName: set-}\nspec: {replicas: 1, template: "+template+"}")
	made.Spec.Template.Cliques[0].Spec.Replicas = max(made.Spec.Template.Cliques[0].Spec.Replicas, 1)
	return made
}

// causes are the fields of a rejection.
func causes(err error) []string {
	GinkgoHelper()
	Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	var status apierrors.APIStatus
	Expect(errors.As(err, &status)).To(BeTrue())
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	return fields
}

const plain = "{cliques: [{name: a, spec: {podSpec: {containers: [{name: main, image: x}]}}}]}"

// useTopology creates a ClusterTopology and waits until the webhooks know it.
func useTopology(name string, levels ...grovev1alpha1.TopologyDomain) *grovev1alpha1.ClusterTopology {
	GinkgoHelper()
	made := fixture.Topology(name, levels...)
	Expect(c.Create(ctx, made)).To(Succeed())
	probe := set("{clusterTopologyName: " + name + ", topologyConstraint: {packDomain: " + string(levels[0]) +
		"}, cliques: [{name: a, spec: {podSpec: {containers: [{name: main, image: x}]}}}]}")
	Eventually(func() error { return c.Create(ctx, probe.DeepCopy(), client.DryRunAll) }).Should(Succeed())
	return made
}

var _ = Describe("Admission of a PodCliqueSet", func() {
	It("keeps the minimum that it filled in when a manifest without one is applied again", func() {
		made := set(plain)
		made.Spec.Template.Cliques[0].Spec.Replicas = 2
		Expect(c.Create(ctx, made)).To(Succeed())
		replaced := made.DeepCopy()
		replaced.Spec.Template.Cliques[0].Spec.Replicas = 3
		replaced.Spec.Template.Cliques[0].Spec.MinAvailable = nil
		Expect(c.Update(ctx, replaced)).To(Succeed())
		Expect(*replaced.Spec.Template.Cliques[0].Spec.MinAvailable).To(BeEquivalentTo(2))

		replaced.Spec.Template.Cliques[0].Spec.Replicas = 1
		replaced.Spec.Template.Cliques[0].Spec.MinAvailable = nil
		Expect(causes(c.Update(ctx, replaced))).To(ConsistOf("spec.template.cliques[0].spec.minAvailable"))
	})

	It("reports every finding at once, each with its path", func() {
		useTopology("reporting", "zone", "rack")
		err := c.Create(ctx, set(`{clusterTopologyName: reporting, topologyConstraint: {packDomain: rack},
cliques: [{name: a, topologyConstraint: {packDomain: zone}, spec: {replicas: 1, minAvailable: 2, podSpec: {nodeName: node-1, containers: [{name: main, image: x}]}}}]}`))
		Expect(causes(err)).To(ConsistOf(
			"spec.template.cliques[0].spec.minAvailable", "spec.template.cliques[0].spec.podSpec.nodeName",
			"spec.template.topologyConstraint"))
	})

	It("takes a ResourceClaimTemplate of another namespace from a user with the right to read it", func() {
		creates := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sets"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"grove.io"}, Resources: []string{"podcliquesets"}, Verbs: []string{"create"}}}}
		reads := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "templates"}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaimtemplates"},
			ResourceNames: []string{"gpu"}, Verbs: []string{"get"},
		}}}
		bind := func(role *rbacv1.ClusterRole, in string) {
			subject := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "tenant"}
			Expect(c.Create(ctx, role)).To(Succeed())
			Expect(c.Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: role.Name}, Subjects: []rbacv1.Subject{subject},
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			})).To(Succeed())
		}
		bind(creates, "default")
		config := rest.CopyConfig(reached)
		config.Impersonate = rest.ImpersonationConfig{UserName: "tenant"}
		tenant, err := client.New(config, client.Options{Scheme: controller.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		shares := set("{resourceSharing: [{name: gpu, namespace: kube-public, scope: AllReplicas}], " +
			strings.TrimPrefix(plain, "{"))
		create := func() error { return tenant.Create(ctx, shares.DeepCopy(), client.DryRunAll) }
		Eventually(func(g Gomega) {
			err := create()
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
			g.Expect(causes(err)).To(ConsistOf("spec.template.resourceSharing[0].namespace"))
		}).Should(Succeed())
		bind(reads, "kube-public")
		Eventually(create).Should(Succeed())
	})

	It("has the rules of the schema as well", func() {
		flawed := set(plain)
		flawed.Spec.UpdateStrategy = &grovev1alpha1.PodCliqueSetUpdateStrategy{Type: "Sometimes"}
		Expect(causes(c.Create(ctx, flawed))).To(ContainElement("spec.updateStrategy.type"))
		flawed = set(plain)
		flawed.Spec.Replicas = 10001
		Expect(causes(c.Create(ctx, flawed))).To(ContainElement("spec.replicas"))
	})

	It("lets a set turn to another topology until a pod of it is scheduled", func() {
		useTopology("first", "rack")
		useTopology("second", "rack")
		made := set(
			"{clusterTopologyName: first, topologyConstraint: {packDomain: rack}, cliques: [{name: a, spec: {podSpec: " +
				"{containers: [{name: main, image: x}]}}}]}")
		Expect(c.Create(ctx, made)).To(Succeed())
		made.Spec.Template.ClusterTopologyName = "missing"
		Expect(causes(c.Update(ctx, made))).To(ConsistOf("spec.template.clusterTopologyName"))
		made.Spec.Template.ClusterTopologyName = "second"
		Expect(c.Update(ctx, made)).To(Succeed())

		By("looking at the pods themselves, which their PodClique does not count yet")
		pod := stand(made, "")
		back := made.DeepCopy()
		back.Spec.Template.ClusterTopologyName = "first"
		Expect(c.Update(ctx, back, client.DryRunAll)).To(
			MatchError(ContainSubstring("while 1 pods of the set are scheduled")))
		Expect(c.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		Expect(c.Update(ctx, back, client.DryRunAll)).To(Succeed())

		schedule(made, 1)
		turn := func() error {
			changed := made.DeepCopy()
			changed.Spec.Template.ClusterTopologyName = "first"
			return c.Update(ctx, changed, client.DryRunAll)
		}
		Eventually(turn).ShouldNot(Succeed())
		Expect(causes(turn())).To(ConsistOf("spec.template.clusterTopologyName"))
		Expect(turn()).To(MatchError(ContainSubstring("while 1 pods of the set are scheduled")))
	})
})

// stand makes a pod of a set on a node, made for a topology.
func stand(set *grovev1alpha1.PodCliqueSet, topology string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "bound-", Namespace: set.Namespace,
			Labels: map[string]string{
				grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue, grovev1alpha1.LabelPartOf: set.Name,
			},
			Annotations: map[string]string{grovev1alpha1.AnnotationTopologyName: topology},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "main", Image: "x"}}},
	}
	Expect(c.Create(ctx, pod)).To(Succeed())
	return pod
}

// schedule makes a PodClique of a set, with scheduled pods in its status.
func schedule(set *grovev1alpha1.PodCliqueSet, pods int32) {
	GinkgoHelper()
	podClique := &grovev1alpha1.PodClique{Spec: set.Spec.Template.Cliques[0].Spec}
	podClique.Namespace, podClique.Name = set.Namespace, set.Name+"-0-a"
	podClique.Labels = map[string]string{grovev1alpha1.LabelPartOf: set.Name}
	Expect(c.Create(ctx, podClique)).To(Succeed())
	podClique.Status.ScheduledReplicas = pods
	Expect(c.Status().Update(ctx, podClique)).To(Succeed())
}

var _ = Describe("Admission of a ClusterTopology", func() {
	It("keeps the reserved name for the operator", func() {
		err := c.Create(ctx, fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "rack"))
		Expect(causes(err)).To(ConsistOf("metadata.name"))
		Expect(c.Create(ctx, fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "rack"),
			client.DryRunAll)).To(Succeed(),
			"who is there first with what it makes is in nobody's way")
	})

	It("keeps the default topology as the operator's configuration has it", func() {
		operator := as(itself)
		kept := fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "rack")
		kept.Finalizers = []string{grovev1alpha1.FinalizerClusterTopology}
		Expect(operator.Create(ctx, kept)).To(Succeed())
		const remedy = "change topologyAwareScheduling.levels there"

		changed := kept.DeepCopy()
		changed.Spec.Levels = changed.Spec.Levels[:1]
		err := c.Update(ctx, changed, client.DryRunAll)
		Expect(causes(err)).To(ConsistOf("spec.levels"))
		Expect(err).To(MatchError(ContainSubstring(remedy)))
		for _, err := range []error{
			c.Delete(ctx, kept, client.DryRunAll),
			c.DeleteAllOf(ctx, &grovev1alpha1.ClusterTopology{}, client.MatchingFields{"metadata.name": kept.Name}),
		} {
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(ContainSubstring(remedy)))
		}

		labelled := kept.DeepCopy()
		labelled.Labels = map[string]string{"team": "a"}
		Expect(c.Update(ctx, labelled, client.DryRunAll)).To(Succeed(), "labels and annotations are free")
		Expect(operator.Update(ctx, changed)).To(Succeed(), "the operator follows its configuration")
		changed.Finalizers = nil
		Expect(c.Update(ctx, changed)).To(Succeed(), "and what holds it can be taken off where no operator runs")
		Expect(operator.Delete(ctx, changed)).To(Succeed())
	})

	It("lets levels change until a set that uses them has scheduled pods", func() {
		made := useTopology("used", "zone", "rack")
		user := set(
			"{clusterTopologyName: used, topologyConstraint: {packDomain: rack}, cliques: [{name: a, spec: {podSpec: " +
				"{containers: [{name: main, image: x}]}}}]}")
		Expect(c.Create(ctx, user)).To(Succeed())
		made.Spec = fixture.Topology("used", "zone", "block", "rack").Spec
		Expect(c.Update(ctx, made)).To(Succeed())

		change := func() error {
			changed := made.DeepCopy()
			changed.Spec = fixture.Topology("used", "rack").Spec
			return c.Update(ctx, changed, client.DryRunAll)
		}

		By("looking at the pods themselves, which no PodClique counts yet")
		elsewhere, ended := stand(user, "another"), stand(user, "used")
		ended.Status.Phase = corev1.PodFailed
		Expect(c.Status().Update(ctx, ended)).To(Succeed())
		Expect(change()).To(Succeed(), "neither pods under another topology nor those that have ended hold it")
		bound, another := stand(user, "used"), stand(user, "used")
		Expect(causes(change())).To(ConsistOf("spec.levels"))
		Expect(change()).To(MatchError(ContainSubstring("scheduled pods: default/" + user.Name + " (2)")))
		for _, pod := range []*corev1.Pod{bound, another, elsewhere, ended} {
			Expect(c.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		}
		Expect(change()).To(Succeed())

		By("believing what the PodCliques report")
		schedule(user, 1)
		Eventually(change).ShouldNot(Succeed())
		Expect(causes(change())).To(ConsistOf("spec.levels"))
		Expect(change()).To(MatchError(ContainSubstring("default/" + user.Name)))

		By("leaving labels free")
		made.Labels = map[string]string{"example.com/a": "b"}
		Expect(c.Update(ctx, made)).To(Succeed())
	})
})

var _ = Describe("Admission of a ClusterTopologyBinding", func() {
	It("takes names of any kind, and turns down what is no hierarchy", func() {
		Expect(c.Create(ctx, fixture.Binding("any", "hall", "rack", "zone", "nvlink-domain"), client.DryRunAll)).To(
			Succeed())
		Expect(causes(c.Create(ctx, fixture.Binding("wrong", "hall", "hall")))).To(
			ConsistOf("spec.levels[1].domain", "spec.levels[1].key"))
		Expect(causes(c.Create(ctx, fixture.Binding("wrong", "Hall")))).To(ContainElement("spec.levels[0].domain"))
		Expect(causes(c.Create(ctx, fixture.Binding("wrong")))).To(ContainElement("spec.levels"))
	})

	It("is refused the name of a ClusterTopology, and a ClusterTopology that of a binding", func() {
		const remedy = "give this ClusterTopologyBinding another name, or delete the ClusterTopology first"
		useTopology("taken", "zone")
		err := c.Create(ctx, fixture.Binding("taken", "hall"))
		Expect(causes(err)).To(ConsistOf("metadata.name"))
		Expect(err).To(MatchError(ContainSubstring(remedy)))
		Expect(causes(c.Create(ctx, fixture.Binding(grovev1alpha1.DefaultClusterTopologyName, "hall")))).To(
			ConsistOf("metadata.name"),
			"the operator makes that one")

		first := fixture.Binding("halls-first", "hall")
		Expect(c.Create(ctx, first)).To(Succeed())
		Expect(first.Finalizers).To(ContainElement(grovev1alpha1.FinalizerClusterTopology))
		err = c.Create(ctx, fixture.Topology("halls-first", "zone"))
		Expect(causes(err)).To(ConsistOf("metadata.name"))
		Expect(err).To(MatchError(
			ContainSubstring("give this ClusterTopology another name, or delete the ClusterTopologyBinding first")))
	})

	It("is chosen by sets, whose domains are its levels", func() {
		binding := fixture.Binding("chosen", "rack", "zone")
		Expect(c.Create(ctx, binding)).To(Succeed())
		user := func(domain, below string) error {
			return c.Create(ctx,
				set("{topologyConstraint: {topologyName: chosen, packDomain: "+domain+"}, cliques: [{name: a, topologyConstraint: "+
					"{topologyName: chosen, packDomain: "+below+"}, spec: {podSpec: {containers: [{name: main, image: x}]}}}]}"),
				client.DryRunAll)
		}
		Expect(user("rack", "zone")).To(Succeed())
		Expect(causes(user("zone", "rack"))).To(ConsistOf("spec.template.topologyConstraint"),
			"here racks are broader than zones")
		err := user("rack", "host")
		Expect(causes(err)).To(ConsistOf("spec.template.cliques[0].topologyConstraint"))
		Expect(err).To(MatchError(
			ContainSubstring(`not a level of ClusterTopologyBinding "chosen"; available domains: rack, zone`)))
	})
})

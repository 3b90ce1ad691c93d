package controller_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// setLevels changes the levels of a ClusterTopology.
func setLevels(name string, domains ...grovev1alpha1.TopologyDomain) {
	GinkgoHelper()
	Eventually(func() error {
		changed := get("", name, &grovev1alpha1.ClusterTopology{})
		changed.Spec = fixture.Topology(name, domains...).Spec
		return c.Update(ctx, changed)
	}).Should(Succeed())
}

var _ = Describe("A PodCliqueSet that asks to be held for missing levels", func() {
	const own = grovev1alpha1.SchedulingGatePodGangPending + " "
	open, shut := []string{"", ""}, []string{own, own}
	annotate := func(in, policy string) {
		GinkgoHelper()
		set := get(in, "user", &grovev1alpha1.PodCliqueSet{})
		patch(set, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, grovev1alpha1.AnnotationMissingTopologyLevel, policy))
	}
	const manifest = `
metadata: {name: user, annotations: {packtree.dev/missing-topology-level: hold}}
spec: {replicas: 1, template: {clusterTopologyName: %s, topologyConstraint: {packDomain: rack}, cliques: [{name: a, spec: {replicas: 2, podSpec: {}}}]}}`

	It("keeps the gates of its pods shut until the level is back, and says so", func() {
		in := namespace()
		Expect(c.Create(ctx, fixture.Topology("holding", "zone"))).To(Succeed())
		createSet(in, fmt.Sprintf(manifest, "holding"))
		pods := podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "user-0-a"})
		listed := func() int {
			gang := &schedulerv1alpha1.PodGang{}
			if c.Get(ctx, client.ObjectKey{Namespace: in, Name: "user-0"}, gang) != nil ||
				len(gang.Spec.PodGroups) == 0 {
				return 0
			}
			return len(gang.Spec.PodGroups[0].PodReferences)
		}
		Eventually(listed).Should(Equal(2), "the gang lists its pods")
		const words = "held for level rack of ClusterTopology holding, which is missing"
		Eventually(func() string {
			return condition(get(in, "user-0-a", &grovev1alpha1.PodClique{}), grovev1alpha1.ConditionPodCliqueScheduled).Message
		}).Should(ContainSubstring("pods " + words + ": 2"))
		Eventually(func() string {
			return condition(get(in, "user", &grovev1alpha1.PodCliqueSet{}), grovev1alpha1.ConditionReady).Message
		}).Should(ContainSubstring(words))
		Expect(condition(get(in, "user", &grovev1alpha1.PodCliqueSet{}), grovev1alpha1.ConditionTopologyLevelsUnavailable).Message).
			To(ContainSubstring("pods which are on no node wait"))
		Consistently(func() []string { return gates(pods()) }).Should(Equal(shut))

		setLevels("holding", "zone", "rack")
		Eventually(func() []string { return gates(pods()) }).Should(Equal(open))
		gang := get(in, "user-0", &schedulerv1alpha1.PodGang{})
		Expect(*gang.Spec.TopologyConstraint.PackConstraint.Required).To(Equal("example.com/rack"))
		Expect(gang.Annotations).NotTo(HaveKey(grovev1alpha1.AnnotationHeldForTopology))
	})

	It("leaves pods whose gates are open their constraint, lets running ones run, and holds the next", func() {
		in := namespace()
		Expect(c.Create(ctx, fixture.Topology("kept", "zone", "rack"))).To(Succeed())
		createSet(in, fmt.Sprintf(manifest, "kept"))
		labels := client.MatchingLabels{grovev1alpha1.LabelPodClique: "user-0-a"}
		pods := podsOf(in, labels)
		Eventually(func() []string { return gates(pods()) }).Should(Equal(open))
		setLevels("kept", "zone")
		Eventually(func() map[string]string {
			return get(in, "user-0", &schedulerv1alpha1.PodGang{}).Annotations
		}).Should(HaveKeyWithValue(grovev1alpha1.AnnotationHeldForTopology, "level rack of ClusterTopology kept"))
		gang := get(in, "user-0", &schedulerv1alpha1.PodGang{})
		Expect(*gang.Spec.TopologyConstraint.PackConstraint.Required).To(Equal("example.com/rack"))

		run(in, labels)
		lost := pods()[0]
		Expect(c.Delete(ctx, &lost, client.GracePeriodSeconds(0))).To(Succeed())
		next := func() []corev1.Pod {
			var unbound []corev1.Pod
			for _, pod := range pods() {
				if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
					unbound = append(unbound, pod)
				}
			}
			return unbound
		}
		Eventually(func() []string { return gates(next()) }).Should(Equal([]string{own}), "the lost pod is replaced")
		Consistently(func() []string { return gates(next()) }).Should(Equal([]string{own}))

		annotate(in, grovev1alpha1.MissingTopologyLevelDrop)
		Eventually(func() []string { return gates(next()) }).Should(Equal([]string{""}),
			"without the constraint it may go")
		Expect(get(in, "user-0", &schedulerv1alpha1.PodGang{}).Spec.TopologyConstraint).To(BeNil())
	})
})

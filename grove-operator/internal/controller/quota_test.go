package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/kueue"
)

var _ = Describe("A set that names a queue of Kueue", func() {
	const queued = `
metadata: {name: q, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 2, minAvailable: 1}}
      - {name: b, spec: {replicas: 1}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1}]
`

	groups := func(in string) func() map[string]int {
		return func() map[string]int {
			found := map[string]int{}
			for _, pod := range podsOf(in, client.MatchingLabels{kueue.LabelQueue: "team"})() {
				group, counted := pod.Labels[kueue.LabelGroup], pod.Annotations[kueue.AnnotationGroupSize]
				if group == pod.Name { // It is another each time.
					group = pod.Labels[grovev1alpha1.LabelPodClique] + "." + pod.Labels[grovev1alpha1.LabelPodIndex]
				}
				found[group+" of "+counted]++
			}
			return found
		}
	}

	It("makes pods that follow others when those are on nodes, so that they hold no quota before", func() {
		in := namespace()
		createSet(in, queued)
		Eventually(groups(in)).Should(Equal(map[string]int{"q-0 of 2": 2}))
		Eventually(func() []string { return gates(podsOf(in, client.MatchingLabels{})()) }).Should(ConsistOf("", ""))
		Expect(groups(in)()).To(HaveLen(1), "their gang is complete, and not on nodes")
		Eventually(func() string {
			clique := get(in, "q-0-g-1-b", &grovev1alpha1.PodClique{})
			for _, condition := range clique.Status.Conditions {
				if condition.Type == grovev1alpha1.ConditionPodCliqueScheduled {
					return condition.Message
				}
			}
			return ""
		}).Should(ContainSubstring("q-0"))

		run(in, client.MatchingLabels{})
		Eventually(groups(in)).Should(Equal(map[string]int{"q-0 of 2": 2, "q-0-a.1 of 1": 1, "q-0-g-0 of 1": 1}))
	})

	It("replaces a pod that is over and that Kueue counts", func() {
		in := namespace()
		createSet(in, queued)
		Eventually(groups(in)).Should(HaveLen(1))
		pod := podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "q-0-a"})()[0]
		Expect(c.Patch(ctx, pod.DeepCopy(), client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"finalizers":["`+kueue.Finalizer+`","example.com/other"]}}`)))).To(Succeed())
		Expect(c.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func() []string { return get(in, pod.Name, &corev1.Pod{}).Finalizers }).Should(
			ConsistOf("example.com/other"))
		Expect(groups(in)()).To(Equal(map[string]int{"q-0 of 2": 2}), "no replacement as long as it is there")
		Expect(c.Patch(ctx, pod.DeepCopy(), client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"finalizers":[]}}`)))).To(Succeed())
		Eventually(func() bool {
			pods := podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "q-0-a"})()
			return len(pods) == 1 && pods[0].UID != pod.UID && pods[0].Name != pod.Name
		}).Should(BeTrue())
	})

	It("goes with its pods, also where Kueue counts them", func() {
		in := namespace()
		set := createSet(in, queued)
		Eventually(groups(in)).Should(HaveLen(1))
		for _, pod := range podsOf(in, client.MatchingLabels{})() {
			Expect(c.Patch(ctx, &pod, client.RawPatch("application/merge-patch+json",
				[]byte(`{"metadata":{"finalizers":["`+kueue.Finalizer+`"]}}`)))).To(Succeed())
		}
		Expect(c.Delete(ctx, set)).To(Succeed())
		Eventually(podsOf(in, client.MatchingLabels{})).Should(BeEmpty())
	})
})

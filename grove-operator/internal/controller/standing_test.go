package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// selectedBy are the PodCliques and indexes of the pods that a scale subresource selects and an autoscaler counts.
func selectedBy(in, selector string) func() []string {
	return func() []string {
		GinkgoHelper()
		parsed, err := labels.Parse(selector)
		Expect(err).NotTo(HaveOccurred())
		var list corev1.PodList
		Expect(c.List(ctx, &list, client.InNamespace(in), client.MatchingLabelsSelector{Selector: parsed})).To(
			Succeed())
		var all []string
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				all = append(all, list.Items[i].Labels[grovev1alpha1.LabelPodClique]+" "+
					list.Items[i].Labels[grovev1alpha1.LabelPodIndex])
			}
		}
		return all
	}
}

var _ = Describe("What autoscalers count", func() {
	It("is one pod of each copy and of each replica, whatever becomes of the pods", func() {
		in := namespace()
		set := createSet(in, `
metadata: {name: st}
spec:
  replicas: 2
  template:
    cliques:
      - {name: router, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x}]}}}
      - {name: worker, spec: {replicas: 2, minAvailable: 1, podSpec: {containers: [{name: main, image: x}]}}}
      - {name: leader, spec: {replicas: 2, minAvailable: 1, podSpec: {containers: [{name: main, image: x}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [leader, worker], replicas: 2}]
`)
		ofGroup := func() []string {
			GinkgoHelper()
			group := &grovev1alpha1.PodCliqueScalingGroup{}
			if c.Get(ctx, client.ObjectKey{Namespace: in, Name: "st-0-g"}, group) != nil ||
				group.Status.Selector == nil {
				return nil
			}
			return selectedBy(in, *group.Status.Selector)()
		}
		ofSet := func() []string {
			GinkgoHelper()
			if selector := get(in, "st", &grovev1alpha1.PodCliqueSet{}).Status.HPAPodSelector; selector != nil {
				return selectedBy(in, *selector)()
			}
			return nil
		}
		Eventually(ofGroup).Should(ConsistOf("st-0-g-0-leader 0", "st-0-g-1-leader 0"))
		Eventually(ofSet).Should(ConsistOf("st-0-router 0", "st-1-router 0"))

		By("losing the pod that stands for the others, for good")
		leader := client.MatchingLabels{grovev1alpha1.LabelPodClique: "st-0-g-0-leader"}
		Eventually(podsOf(in, leader)).Should(HaveLen(2))
		for _, pod := range podsOf(in, leader)() {
			if pod.Labels[grovev1alpha1.LabelPodIndex] == "1" {
				binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
				Eventually(func() []string { return gates(podsOf(in, leader)()) }).Should(HaveEach(""))
				Expect(c.SubResource("binding").Create(ctx, &pod, binding)).To(Succeed())
			}
		}
		Eventually(func() int32 {
			return get(in, "st-0-g-0-leader", &grovev1alpha1.PodClique{}).Status.ScheduledReplicas
		}).Should(BeEquivalentTo(1))
		scale(get(in, "st-0-g-0-leader", &grovev1alpha1.PodClique{}), 1)
		Eventually(ofGroup).Should(ConsistOf("st-0-g-0-leader 1", "st-0-g-1-leader 0"))

		By("having it back")
		scale(get(in, "st-0-g-0-leader", &grovev1alpha1.PodClique{}), 2)
		Eventually(ofGroup).Should(ConsistOf("st-0-g-0-leader 0", "st-0-g-1-leader 0"))

		By("writing the cliques in another order")
		patch(set, `[
			{"op":"move","from":"/spec/template/cliques/0","path":"/spec/template/cliques/1"},
			{"op":"replace","path":"/spec/template/podCliqueScalingGroups/0/cliqueNames","value":["worker","leader"]}]`)
		Eventually(ofGroup).Should(ConsistOf("st-0-g-0-worker 0", "st-0-g-1-worker 0"))
		Eventually(ofSet).Should(ConsistOf("st-0-g-0-worker 0", "st-1-g-0-worker 0"))
	})
})

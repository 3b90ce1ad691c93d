package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/controller"
)

var _ = Describe("The first version of a PodGang", func() {
	const two = `
metadata: {name: s}
spec:
  replicas: 1
  template:
    cliques: [{name: a, spec: {replicas: 2}}, {name: b, spec: {replicas: 1}}]
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1}]
`

	It("lists all its pods", func() {
		in := namespace()
		watching, err := client.NewWithWatch(rcfg, client.Options{Scheme: controller.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		seen, err := watching.Watch(ctx, &schedulerv1alpha1.PodGangList{}, client.InNamespace(in))
		Expect(err).NotTo(HaveOccurred())
		defer seen.Stop()
		createSet(in, two)
		listed := map[string]int{}
		for len(listed) < 2 {
			event := <-seen.ResultChan()
			gang, ok := event.Object.(*schedulerv1alpha1.PodGang)
			Expect(ok).To(BeTrue(), "the watch ended: %v", event)
			if _, known := listed[gang.Name]; known {
				continue
			}
			for _, group := range gang.Spec.PodGroups {
				listed[gang.Name] += len(group.PodReferences)
			}
		}
		Expect(listed).To(Equal(map[string]int{"s-0": 3, "s-0-g-0": 1}))
	})

	It("lists those that there are if others are refused", func() {
		in := namespace()
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "few"}}
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
		Expect(c.Create(ctx, quota)).To(Succeed())
		quota.Status.Hard = quota.Spec.Hard
		quota.Status.Used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		Expect(c.Status().Update(ctx, quota)).To(Succeed())
		createSet(in, `
metadata: {name: s}
spec: {replicas: 1, template: {cliques: [{name: a, spec: {replicas: 2, minAvailable: 1}}]}}
`)
		Eventually(gangPhases(in)).Should(HaveKey("s-0"))
		Eventually(func(g Gomega) {
			gang := get(in, "s-0", &schedulerv1alpha1.PodGang{})
			g.Expect(gang.Spec.PodGroups[0].PodReferences).To(HaveLen(1))
			initialized := meta.FindStatusCondition(gang.Status.Conditions, schedulerv1alpha1.ConditionInitialized)
			g.Expect(initialized).To(HaveField("Reason", schedulerv1alpha1.ReasonPodGangPodsCreationPending))
			g.Expect(gates(podsOf(in, nil)())).To(Equal([]string{""}), "what the gang lists may be scheduled")
		}).Should(Succeed())
	})
})

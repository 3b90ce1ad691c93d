package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
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

	const together = `
metadata: {name: s}
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: zone}
    cliques: [{name: a, spec: {replicas: 1}}, {name: b, spec: {replicas: 2}}]
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 4, minAvailable: 1}]
`

	// watched gives a function that waits for the next change of a PodGang.
	watched := func(in string) func() (watch.EventType, *schedulerv1alpha1.PodGang) {
		GinkgoHelper()
		watching, err := client.NewWithWatch(rcfg, client.Options{Scheme: controller.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		seen, err := watching.Watch(ctx, &schedulerv1alpha1.PodGangList{}, client.InNamespace(in))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(seen.Stop)
		return func() (watch.EventType, *schedulerv1alpha1.PodGang) {
			GinkgoHelper()
			event := <-seen.ResultChan()
			gang, ok := event.Object.(*schedulerv1alpha1.PodGang)
			Expect(ok).To(BeTrue(), "the watch ended: %v", event)
			return event.Type, gang
		}
	}

	It("lists all its pods", func() {
		in := namespace()
		next := watched(in)
		createSet(in, two)
		listed := map[string]int{}
		for len(listed) < 2 {
			_, gang := next()
			if _, known := listed[gang.Name]; known {
				continue
			}
			for _, group := range gang.Spec.PodGroups {
				listed[gang.Name] += len(group.PodReferences)
			}
		}
		Expect(listed).To(Equal(map[string]int{"s-0": 3, "s-0-g-0": 1}))
	})

	It("comes after those of the gangs that are to stand with it", func() {
		in := namespace()
		next := watched(in)
		createSet(in, together)
		var came []string
		for len(came) < 4 {
			if event, gang := next(); event == watch.Added {
				came = append(came, gang.Name)
			}
		}
		Expect(came[:3]).To(ConsistOf("s-0-g-0", "s-0-g-1", "s-0-g-2"))
		Expect(came[3]).To(Equal("s-0"))
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

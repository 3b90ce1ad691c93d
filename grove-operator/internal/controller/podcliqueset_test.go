package controller_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

const inference = `
metadata: {name: inf}
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: zone}
    cliques:
      - {name: router, spec: {replicas: 2, minAvailable: 1, autoScalingConfig: {maxReplicas: 4}, podSpec: {schedulingGates: [{name: example.com/hold}], containers: [{name: main, image: "x:1"}]}}}
      - {name: worker, spec: {replicas: 2, podSpec: {containers: [{name: main, image: "x:1"}]}}}
    podCliqueScalingGroups:
      - {name: sg, cliqueNames: [worker], replicas: 2, topologyConstraint: {packDomain: rack}}
`

// state are a set's counts and its condition Ready.
func state(in, name string) func() string {
	return func() string {
		GinkgoHelper()
		set := get(in, name, &grovev1alpha1.PodCliqueSet{})
		return fmt.Sprintf("%d/%d/%d %s", set.Status.Replicas, set.Status.AvailableReplicas,
			set.Spec.Replicas, condition(set, grovev1alpha1.ConditionReady).Reason)
	}
}

func gangPhases(in string) func() map[string]string {
	return func() map[string]string {
		GinkgoHelper()
		var list schedulerv1alpha1.PodGangList
		Expect(c.List(ctx, &list, client.InNamespace(in))).To(Succeed())
		phases := map[string]string{}
		for _, gang := range list.Items {
			phases[gang.Name] = string(gang.Status.Phase)
		}
		return phases
	}
}

var base, scaled = client.MatchingLabels{"grove.io/podgang": "inf-0"},
	client.MatchingLabels{"grove.io/podgang": "inf-0-sg-0"}

// openRouterGate removes the users' own gate from the router's pods.
func openRouterGate(in string) {
	GinkgoHelper()
	for _, pod := range podsOf(in, client.MatchingLabels{"grove.io/podclique": "inf-0-router"})() {
		if len(pod.Spec.SchedulingGates) > 0 {
			patch(&pod, `[{"op":"remove","path":"/spec/schedulingGates"}]`)
		}
	}
}

// running starts the set of the manifest inference, until its pods run.
func running() (string, *grovev1alpha1.PodCliqueSet) {
	GinkgoHelper()
	in := namespace()
	set := createSet(in, inference)
	Eventually(func() []string { return gates(podsOf(in, base)()) }).Should(
		ConsistOf("example.com/hold ", "example.com/hold ", "", ""))
	openRouterGate(in)
	run(in, base)
	Eventually(func() []string { return gates(podsOf(in, scaled)()) }).Should(ConsistOf("", ""))
	run(in, scaled)
	Eventually(state(in, "inf")).Should(Equal("1/1/1 AllReplicasAvailable"))
	return in, set
}

var _ = Describe("A PodCliqueSet", func() {
	It("puts its autoscalers right when a user edits them, which have no generation", func() {
		in, _ := running()
		Consistently(state(in, "inf"), "2s").Should(Equal("1/1/1 AllReplicasAvailable"),
			"at rest, so that nothing else has the set looked at")
		most := func() int32 {
			return get(in, "inf-0-router", &autoscalingv2.HorizontalPodAutoscaler{}).Spec.MaxReplicas
		}
		wanted := most()
		edited := get(in, "inf-0-router", &autoscalingv2.HorizontalPodAutoscaler{})
		edited.Spec.MaxReplicas = wanted + 7
		Expect(c.Update(ctx, edited)).To(Succeed())
		Eventually(most).Should(Equal(wanted))
	})

	It("becomes gangs and pods whose gates open in order", func() {
		in := namespace()
		createSet(in, inference)
		Eventually(podsOf(in, base)).Should(HaveLen(4))
		Eventually(podsOf(in, scaled)).Should(HaveLen(2))

		By("opening the gates of the base gang alone, and leaving those of others")
		Eventually(func() []string { return gates(podsOf(in, base)()) }).Should(
			ConsistOf("example.com/hold ", "example.com/hold ", "", ""))
		ours := grovev1alpha1.SchedulingGatePodGangPending + " "
		Expect(gates(podsOf(in, scaled)())).To(ConsistOf(ours, ours))
		Eventually(gangPhases(in)).Should(Equal(map[string]string{"inf-0": "Pending", "inf-0-sg-0": "Pending"}))
		Eventually(state(in, "inf")).Should(Equal("1/0/1 GangsWaiting"))

		By("opening the gates of the scaled gang when every minimum of the base gang stands")
		run(in, base)
		Consistently(func() []string { return gates(podsOf(in, scaled)()) }).Should(ConsistOf(ours, ours))
		openRouterGate(in)
		run(in, base)
		Eventually(func() []string { return gates(podsOf(in, scaled)()) }).Should(ConsistOf("", ""))
		run(in, scaled)
		Eventually(gangPhases(in)).Should(Equal(map[string]string{"inf-0": "Running", "inf-0-sg-0": "Running"}))
		Eventually(state(in, "inf")).Should(Equal("1/1/1 AllReplicasAvailable"))
		Expect(get(in, "inf-0", &schedulerv1alpha1.PodGang{}).Status.Conditions).To(ContainElement(And(
			HaveField("Type", "Scheduled"), HaveField("Status", metav1.ConditionTrue),
			HaveField("Reason", schedulerv1alpha1.ReasonMinimaOnNodes))),
			"nobody else writes that condition here")
	})

	It("repeats the words of the scheduler, which another writes", func() {
		in := namespace()
		createSet(in, inference)
		Eventually(podsOf(in, scaled)).Should(HaveLen(2))
		Eventually(gangPhases(in)).Should(HaveKeyWithValue("inf-0", "Pending"))
		says := func() string {
			return verdict(get(in, "inf-0", &schedulerv1alpha1.PodGang{}), "Scheduled")
		}
		Eventually(says).Should(Equal("False MinimaNotOnNodes"), "nobody else says anything")
		said := &schedulerv1alpha1.PodGang{
			TypeMeta:   metav1.TypeMeta{APIVersion: "scheduler.grove.io/v1alpha1", Kind: "PodGang"},
			ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "inf-0"},
		}
		said.Status.Conditions = []metav1.Condition{{
			Type: "Scheduled", Status: "False", Reason: "Infeasible", Message: "no zone has room for 3 pods",
			LastTransitionTime: metav1.Now(),
		}}
		Expect(applyStatus(said, "podgrouper")).To(Succeed())
		message := func() string {
			return condition(get(in, "inf", &grovev1alpha1.PodCliqueSet{}), grovev1alpha1.ConditionReady).Message
		}
		Eventually(message).Should(ContainSubstring("PodGang inf-0 waits: no zone has room for 3 pods"))

		By("leaving them there when it writes its own conditions")
		Eventually(func() map[string]string {
			openRouterGate(in)
			run(in, base)
			return gangPhases(in)()
		}).Should(HaveKeyWithValue("inf-0", "Running"))
		Expect(condition(get(in, "inf-0", &schedulerv1alpha1.PodGang{}), "Scheduled").Message).To(
			Equal("no zone has room for 3 pods"))
	})

	It("goes with everything that has pods", func() {
		in, set := running()
		Expect(c.Delete(ctx, set)).To(Succeed())
		Eventually(podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPartOf: "inf"})).Should(
			HaveEach(HaveField("DeletionTimestamp", Not(BeNil()))))
		Consistently(func() error { return c.Get(ctx, client.ObjectKeyFromObject(set), set) }).Should(Succeed(),
			"its pods are still going")

		By("waiting for the kubelet to end the pods")
		for _, pod := range podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPartOf: "inf"})() {
			Expect(c.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
		}
		Eventually(gone(set)).Should(BeTrue())
		for _, list := range []client.ObjectList{
			&grovev1alpha1.PodCliqueList{}, &grovev1alpha1.PodCliqueScalingGroupList{},
			&schedulerv1alpha1.PodGangList{},
			&corev1.ServiceList{}, &autoscalingv2.HorizontalPodAutoscalerList{},
		} {
			Expect(c.List(ctx, list, client.InNamespace(in))).To(Succeed())
			Expect(meta.LenList(list)).To(BeZero(), "%T", list)
		}
	})

	It("writes nothing when nothing changes, not even after a restart", func() {
		in, _ := running()
		versions := func() map[string]string {
			GinkgoHelper()
			all := map[string]string{}
			for _, list := range []client.ObjectList{
				&grovev1alpha1.PodCliqueSetList{}, &grovev1alpha1.PodCliqueList{},
				&grovev1alpha1.PodCliqueScalingGroupList{},
				&schedulerv1alpha1.PodGangList{}, &corev1.PodList{}, &corev1.ServiceList{},
				&corev1.ServiceAccountList{},
				&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &autoscalingv2.HorizontalPodAutoscalerList{},
			} {
				Expect(c.List(ctx, list, client.InNamespace(in))).To(Succeed())
				Expect(meta.EachListItem(list, func(item runtimeObject) error {
					object := item.(client.Object)
					all[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetResourceVersion()
					return nil
				})).To(Succeed())
			}
			return all
		}
		By("letting the last statuses be written")
		var before map[string]string
		Eventually(func(g Gomega) {
			before = versions()
			g.Consistently(versions, "1s").Should(Equal(before))
		}).Should(Succeed())
		By("starting another operator")
		start(levels("zone", "rack", "host"))
		Consistently(versions).Should(Equal(before))
	})
})

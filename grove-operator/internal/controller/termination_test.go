package controller_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// patience sets the set's terminationDelay.
func patience(set *grovev1alpha1.PodCliqueSet, delay time.Duration) {
	GinkgoHelper()
	patch(set, fmt.Sprintf(`{"spec":{"template":{"terminationDelay":%q}}}`, delay))
}

// identities are the UIDs of the PodCliques, PodCliqueScalingGroups and pods of a namespace, by kind and name; pods
// that are being deleted are left out.
func identities(in string) map[string]types.UID {
	GinkgoHelper()
	all := map[string]types.UID{}
	var podCliques grovev1alpha1.PodCliqueList
	var groups grovev1alpha1.PodCliqueScalingGroupList
	Expect(c.List(ctx, &podCliques, client.InNamespace(in))).To(Succeed())
	Expect(c.List(ctx, &groups, client.InNamespace(in))).To(Succeed())
	for _, podClique := range podCliques.Items {
		all["PodClique "+podClique.Name] = podClique.UID
	}
	for _, group := range groups.Items {
		all["PodCliqueScalingGroup "+group.Name] = group.UID
	}
	for _, pod := range podsOf(in, nil)() {
		if pod.DeletionTimestamp == nil {
			all["Pod "+pod.Name] = pod.UID
		}
	}
	return all
}

// without are the identities, except names that begin with a prefix.
func without(all map[string]types.UID, prefixes ...string) map[string]types.UID {
	kept := map[string]types.UID{}
	for name, uid := range all {
		_, short, _ := strings.Cut(name, " ")
		leaving := false
		for _, prefix := range prefixes {
			leaving = leaving || strings.HasPrefix(short, prefix)
		}
		if !leaving {
			kept[name] = uid
		}
	}
	return kept
}

func disrupted(in, gang string) func() string {
	return func() string {
		return verdict(get(in, gang, &schedulerv1alpha1.PodGang{}), schedulerv1alpha1.ConditionDisruptionTarget)
	}
}

func terminations(in string) func() []string {
	return func() []string {
		var list eventsv1.EventList
		Expect(c.List(ctx, &list, client.InNamespace(in))).To(Succeed())
		var notes []string
		for _, event := range list.Items {
			if event.Reason == "GangTerminated" {
				notes = append(notes, event.Regarding.Kind+": "+event.Note)
			}
		}
		return notes
	}
}

// breakOne makes one pod of a PodClique not ready.
func breakOne(in, podClique string) {
	GinkgoHelper()
	for _, pod := range podsOf(in, client.MatchingLabels{"grove.io/podclique": podClique})() {
		if pod.DeletionTimestamp == nil {
			setReady(&pod, corev1.ConditionFalse)
			return
		}
	}
	Fail(podClique + " has no pod to break")
}

// breached reports whether a scaling group is below its minimum. A copy that is due before the others were seen as
// broken would be recreated alone.
func breached(in, group string) func() bool {
	return func() bool {
		return condition(get(in, group, &grovev1alpha1.PodCliqueScalingGroup{}),
			grovev1alpha1.ConditionMinAvailableBreached).Status == metav1.ConditionTrue
	}
}

// openForeignGates removes the users' own gate from all pods.
func openForeignGates(in string) {
	GinkgoHelper()
	patch := client.RawPatch(types.StrategicMergePatchType,
		[]byte(`{"spec":{"schedulingGates":[{"$patch":"delete","name":"example.com/hold"}]}}`))
	for _, pod := range podsOf(in, nil)() {
		if len(pod.Spec.SchedulingGates) > 0 {
			Expect(client.IgnoreNotFound(c.Patch(ctx, &pod, patch))).To(Succeed())
		}
	}
}

// settle does the work of scheduler and kubelet until the set inf is available, and all of its pods are ready.
func settle(in, want string) {
	GinkgoHelper()
	settleSet(in, "inf", want)
}

func settleSet(in, set, want string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		end(in, nil)
		openForeignGates(in)
		run(in, nil)
		var podCliques grovev1alpha1.PodCliqueList
		var groups grovev1alpha1.PodCliqueScalingGroupList
		g.Expect(c.List(ctx, &podCliques, client.InNamespace(in))).To(Succeed())
		g.Expect(c.List(ctx, &groups, client.InNamespace(in))).To(Succeed())
		// The set's counts say nothing of pods beyond the minima, nor of what its latest status does not know yet.
		for _, podClique := range podCliques.Items {
			g.Expect(podClique.Status.ObservedGeneration).To(Equal(podClique.Generation), podClique.Name)
			g.Expect(podClique.Status.ReadyReplicas).To(Equal(podClique.Spec.Replicas), podClique.Name)
		}
		for _, group := range groups.Items {
			g.Expect(group.Status.ObservedGeneration).To(Equal(group.Generation), group.Name)
			g.Expect(group.Status.AvailableReplicas).To(Equal(group.Spec.Replicas), group.Name)
		}
		found := get(in, set, &grovev1alpha1.PodCliqueSet{})
		g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation), found.Name)
		g.Expect(state(in, set)()).To(Equal(want))
	}).Should(Succeed())
}

var _ = Describe("Gang termination", func() {
	It("recreates a copy of a scaling group alone while the group keeps its minimum", func() {
		in, set := running()
		before := identities(in)
		breakOne(in, "inf-0-sg-0-worker")
		patience(set, time.Second)
		Eventually(disrupted(in, "inf-0")).Should(Equal("True GangTermination"))
		Expect(disrupted(in, "inf-0-sg-0")()).To(Equal("False NotDisrupted"))
		settle(in, "1/1/1 AllReplicasAvailable")
		Eventually(disrupted(in, "inf-0")).Should(Equal("False NotDisrupted"))

		after := identities(in)
		const leaving = "inf-0-sg-0-worker"
		Expect(without(after, leaving)).To(Equal(without(before, leaving)))
		Expect(after["PodClique "+leaving]).NotTo(Equal(before["PodClique "+leaving]))
		Eventually(terminations(in)).Should(
			ConsistOf("PodCliqueScalingGroup: copy 0 is recreated: below the minimum for 1s: PodClique " + leaving))
		Eventually(func() *grovev1alpha1.GangTermination {
			return get(in, "inf-0-sg", &grovev1alpha1.PodCliqueScalingGroup{}).Status.GangTermination
		}).Should(BeNil())
	})

	It("recreates the whole replica otherwise, keeps its scale, touches no other, and survives a restart half-way", func() {
		in, set := running()
		scale(set, 2)
		settle(in, "2/2/2 AllReplicasAvailable")
		scale(get(in, "inf-0-router", &grovev1alpha1.PodClique{}), 3)
		scale(get(in, "inf-0-sg", &grovev1alpha1.PodCliqueScalingGroup{}), 3)
		Eventually(podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodCliqueSetReplicaIndex: "0"})).Should(
			HaveLen(3 + 3*2))
		settle(in, "2/2/2 AllReplicasAvailable")
		before := identities(in)

		breakOne(in, "inf-0-sg-0-worker")
		breakOne(in, "inf-0-sg-1-worker")
		breakOne(in, "inf-0-sg-2-worker")
		Eventually(breached(in, "inf-0-sg")).Should(BeTrue())
		patience(set, time.Second)
		Eventually(func() *grovev1alpha1.GangTermination {
			return get(in, "inf", &grovev1alpha1.PodCliqueSet{}).Status.GangTermination
		}).ShouldNot(BeNil())
		Eventually(disrupted(in, "inf-0-sg-1")).Should(Equal("True GangTermination"))

		By("starting another operator half-way, with a replica due that is not being recreated")
		patience(set, time.Minute)
		breakOne(in, "inf-1-sg-0-worker")
		breakOne(in, "inf-1-sg-1-worker")
		Eventually(breached(in, "inf-1-sg")).Should(BeTrue())
		patience(set, time.Second)
		start(levels("zone", "rack", "host"))
		Consistently(func() map[string]types.UID { return without(identities(in), "inf-0") }, "2s").Should(
			Equal(without(before, "inf-0")))
		run(in, client.MatchingLabels{grovev1alpha1.LabelPodCliqueScalingGroup: "inf-1-sg"})
		Eventually(breached(in, "inf-1-sg")).Should(BeFalse())

		settle(in, "2/2/2 AllReplicasAvailable")
		after := identities(in)
		Expect(without(after, "inf-0")).To(Equal(without(before, "inf-0")))
		Expect(after).To(HaveLen(len(before)), "the same number of PodCliques, groups and pods")
		for name, uid := range after {
			if strings.Contains(name, "inf-0") {
				Expect(before[name]).NotTo(Equal(uid), name)
			}
		}
		Expect(get(in, "inf", &grovev1alpha1.PodCliqueSet{}).Status.GangTermination).To(BeNil())
	})
})

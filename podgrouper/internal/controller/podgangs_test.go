package controller_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// scheduled returns the PodGang's condition Scheduled.
func scheduled(ctx context.Context, gang string) func() (*metav1.Condition, error) {
	return func() (*metav1.Condition, error) {
		found := &grovescheduler.PodGang{}
		err := api.Get(ctx, named(gang), found)
		return meta.FindStatusCondition(found.Status.Conditions, grovescheduler.ConditionScheduled), err
	}
}

func condition(status metav1.ConditionStatus, reason, message string) OmegaMatcher {
	return PointTo(MatchFields(IgnoreExtras, Fields{
		"Status": Equal(status), "Reason": Equal(reason), "Message": ContainSubstring(message),
	}))
}

// says writes a condition of a PodGroup as the scheduler does, and returns the PodGroup.
func says(ctx context.Context, podGroup string, condition metav1.Condition) *scheduling.PodGroup {
	GinkgoHelper()
	return changeStatus(ctx, podGroup, func(status *scheduling.PodGroupStatus) {
		meta.SetStatusCondition(&status.Conditions, condition)
	})
}

// changeStatus changes a PodGroup's status, also while the pod grouper writes it.
func changeStatus(ctx context.Context, name string, change func(*scheduling.PodGroupStatus)) *scheduling.PodGroup {
	GinkgoHelper()
	found := &scheduling.PodGroup{}
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := api.Get(ctx, named(name), found); err != nil {
			return err
		}
		change(&found.Status)
		return api.Status().Update(ctx, found)
	})).To(Succeed())
	return found
}

// comesToRest waits until a PodGroup is applied no more.
func comesToRest(name string) {
	GinkgoHelper()
	var before int
	Eventually(func() bool {
		now := writes.of(name)
		defer func() { before = now }()
		return now > 0 && now == before
	}).WithPolling(500*time.Millisecond).Should(BeTrue(), "the PodGroup is written again and again")
}

func validity(podGroup *scheduling.PodGroup) *metav1.Condition {
	return meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionValid)
}

var _ = Describe("A PodGang", func() {
	It("becomes a PodGroup of its name before it has pods, owned by it", func(ctx SpecContext) {
		gang := newPodGang("gang", "")
		gang.Labels = map[string]string{kai.LabelQueue: "team-a"}
		gang.Annotations = map[string]string{scheduling.AnnotationBaseGang: "base"}
		create(ctx, gang)
		Eventually(podGroup(ctx, "gang")).Should(PointTo(MatchFields(IgnoreExtras, Fields{
			"Spec": MatchFields(IgnoreExtras, Fields{
				"Queue": Equal("team-a"),
				"SubGroups": ConsistOf(MatchFields(IgnoreExtras, Fields{
					"Name": Equal("gang-workers"), "MinMember": HaveValue(BeEquivalentTo(1)),
				})),
			}),
			"ObjectMeta": MatchFields(IgnoreExtras, Fields{
				"Annotations": HaveKeyWithValue(scheduling.AnnotationBaseGang, "base"),
				"OwnerReferences": ConsistOf(MatchFields(IgnoreExtras,
					Fields{"Kind": Equal("PodGang"), "UID": Equal(gang.UID)})),
			}),
		})))
	})

	It("has its PodGroup after those of the gangs that are to stand with it", func(ctx SpecContext) {
		follower, leader := newPodGang("follower", ""), newPodGang("leader", "")
		follower.Labels = map[string]string{grove.LabelBasePodGang: "leader"}
		for _, gang := range []*grovescheduler.PodGang{follower, leader} {
			gang.Annotations = map[string]string{scheduling.AnnotationBaseGang: "leader"}
		}
		writes.whileApplying("follower", func() {
			defer GinkgoRecover()
			create(ctx, leader)
			Consistently(podGroups(ctx), "1s").Should(BeEmpty())
		})
		create(ctx, follower)
		Eventually(podGroups(ctx)).Should(HaveLen(2))
	})

	It("has its PodGroup follow when it joins other gangs or leaves them", func(ctx SpecContext) {
		gang := newPodGang("gang", "")
		create(ctx, gang)
		Eventually(podGroup(ctx, "gang")).ShouldNot(BeNil())
		sharing := func(annotations string) {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":`+annotations+`}}`))
			Expect(api.Patch(ctx, gang, patch)).To(Succeed())
		}
		sharing(`{"packtree.dev/base-gang":"base"}`)
		Eventually(podGroup(ctx, "gang")).Should(HaveField("Annotations",
			HaveKeyWithValue(scheduling.AnnotationBaseGang, "base")))
		sharing(`{"packtree.dev/base-gang":null}`)
		Eventually(podGroup(ctx, "gang")).Should(HaveField("Annotations", Not(HaveKey(scheduling.AnnotationBaseGang))))
	})

	It("lets its pods name their group, also those that it does not list yet", func(ctx SpecContext) {
		create(ctx, newPodGang("gang", "", "listed"))
		create(ctx, newGangPod("listed", "gang"))
		unlisted := newGangPod("unlisted", "gang")
		unlisted.Labels[grove.LabelPodClique] = "gang-workers"
		create(ctx, unlisted)
		for _, name := range []string{"listed", "unlisted"} {
			Eventually(podGroupNameOf(ctx, name)).Should(Equal("gang"), name)
			pod := &corev1.Pod{}
			Expect(api.Get(ctx, named(name), pod)).To(Succeed())
			Expect(pod.Labels).To(HaveKeyWithValue(kai.LabelSubGroupName, "gang-workers"), name)
		}
	})

	It("groups pods that were there before it", func(ctx SpecContext) {
		create(ctx, newGangPod("early", "gang"))
		Consistently(podGroups(ctx), "300ms").Should(BeEmpty())
		create(ctx, newPodGang("gang", "", "early"))
		Eventually(podGroupNameOf(ctx, "early")).Should(Equal("gang"))
	})

	It("passes its changes on", func(ctx SpecContext) {
		gang := create(ctx, newPodGang("gang", ""))
		Eventually(podGroup(ctx, "gang")).ShouldNot(BeNil())
		patch(ctx, gang, `{"spec":{"podgroups":[
			{"name":"gang-workers","minReplicas":1,"podReferences":[]},
			{"name":"more","minReplicas":3,"podReferences":[]}]}}`)
		Eventually(podGroup(ctx, "gang")).Should(HaveField("Spec.SubGroups", HaveLen(2)))
		patch(ctx, gang, `{"spec":{"podgroups":[{"name":"more","minReplicas":3,"podReferences":[]}]}}`)
		Eventually(podGroup(ctx, "gang")).Should(HaveField("Spec.SubGroups", ConsistOf(HaveField("Name", "more"))))
	})

	It("says everywhere that a level has no topology", func(ctx SpecContext) {
		create(ctx, newPodGang("gang", "topology/rack"))
		const reason = "metadata.annotations[grove.io/topology-name]: Required value"
		Eventually(scheduled(ctx, "gang")).Should(condition(metav1.ConditionFalse, scheduling.ReasonInvalid, reason))
		Eventually(podGroup(ctx, "gang")).Should(WithTransform(validity,
			condition(metav1.ConditionFalse, scheduling.ReasonInvalidOwner, reason)))
		Eventually(eventsOn(ctx, "PodGang", "gang")).Should(ContainElement(ContainSubstring(reason)))
		Expect(podGroup(ctx, "gang")()).To(HaveField("Spec.TopologyConstraint.RequiredTopologyLevel", "topology/rack"))
	})

	It("says what the scheduler says", func(ctx SpecContext) {
		create(ctx, newPodGang("gang", ""))
		Eventually(scheduled(ctx, "gang")).Should(condition(metav1.ConditionUnknown, scheduling.ReasonWaiting,
			"not looked"))
		for _, said := range []metav1.Condition{
			{Status: metav1.ConditionFalse, Reason: scheduling.ReasonInfeasible, Message: "no rack has 8 free GPUs"},
			{Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced, Message: "every pod has a node"},
		} {
			said.Type = scheduling.ConditionScheduled
			says(ctx, "gang", said)
			Eventually(scheduled(ctx, "gang")).Should(condition(said.Status, said.Reason, said.Message))
		}
	})

	It("has a score while the scheduler says how close together it stands", func(ctx SpecContext) {
		create(ctx, newPodGang("gang", ""))
		Eventually(podGroup(ctx, "gang")).ShouldNot(BeNil())
		says := func(reason string, placement *scheduling.PlacementStatus) {
			GinkgoHelper()
			changeStatus(ctx, "gang", func(status *scheduling.PodGroupStatus) {
				meta.SetStatusCondition(&status.Conditions, metav1.Condition{
					Type: scheduling.ConditionScheduled, Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced,
					Message: reason,
				})
				status.Placement = placement
			})
			Eventually(scheduled(ctx, "gang")).Should(condition(metav1.ConditionTrue, scheduling.ReasonPlaced, reason))
		}
		score := func() *float64 {
			gang := &grovescheduler.PodGang{}
			Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "gang"}, gang)).To(Succeed())
			return gang.Status.PlacementScore
		}
		says("fewer may do", &scheduling.PlacementStatus{Domains: 2, Fewest: scheduling.FewestNotProved})
		Expect(score()).To(BeNil())
		says("proved", &scheduling.PlacementStatus{Domains: 2, Fewest: scheduling.FewestYes})
		Expect(score()).To(HaveValue(Equal(1.0)))
		says("no level is preferred any more", nil)
		Expect(score()).To(BeNil())
	})

	It("gets no PodGroup if all of its pods ask for another scheduler", func(ctx SpecContext) {
		pod := newGangPod("elsewhere", "gang")
		pod.Spec.SchedulerName = "default-scheduler"
		create(ctx, pod)
		create(ctx, newPodGang("gang", "", "elsewhere"))
		Consistently(podGroups(ctx), "500ms").Should(BeEmpty())
	})

	It("leaves alone a PodGroup of its name that another client made", func(ctx SpecContext) {
		create(ctx, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Name: "gang"},
			Spec:       scheduling.PodGroupSpec{MinMember: new(int32(7))},
		})
		create(ctx, newPodGang("gang", ""))
		Eventually(eventsOn(ctx, "PodGang", "gang")).Should(ContainElement(ContainSubstring("not managed by podgrouper")))
		group, err := podGroup(ctx, "gang")()
		Expect(err).NotTo(HaveOccurred())
		Expect(group.Spec).To(Equal(scheduling.PodGroupSpec{MinMember: new(int32(7))}))
		Expect(group.OwnerReferences).To(BeEmpty())
	})

	It("says which of its names no PodGroup can take", func(ctx SpecContext) {
		gang := newPodGang("gang", "")
		gang.Spec.PodGroups[0].Name = "not a label"
		create(ctx, gang)
		Eventually(scheduled(ctx, "gang")).Should(condition(metav1.ConditionFalse, scheduling.ReasonInvalid,
			"spec.subGroups[0].name"))
		Expect(podGroups(ctx)()).To(BeEmpty())
	})
})

var _ = Describe("Pods of a PodGang that say different things", func() {
	It("do not have its PodGroup turn to and fro", func(ctx SpecContext) {
		create(ctx, newPodGang("gang", "", "b-worker"))
		for name, change := range map[string]func(*corev1.Pod){
			"a-skipped": func(
				pod *corev1.Pod) {
				pod.Annotations = map[string]string{kai.AnnotationSkipPodGrouper: "true"}
			},
			"a-unlisted": func(*corev1.Pod) {},
			"a-taken": func(pod *corev1.Pod) {
				pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: "theirs"}
			},
			"b-worker": func(*corev1.Pod) {},
		} {
			pod := newGangPod(name, "gang")
			pod.Labels[kai.LabelQueue] = name
			change(pod)
			create(ctx, pod)
		}
		Eventually(podGroupNameOf(ctx, "b-worker")).Should(Equal("gang"))
		Eventually(podGroup(ctx, "gang")).Should(HaveField("Spec.Queue", "b-worker"))
		comesToRest("gang")
		Expect(podGroup(ctx, "gang")()).To(HaveField("Spec.Queue", "b-worker"))
	})
})

package controller_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"

	"packtree.dev/grove-operator/internal/pods"
)

var _ = Describe("An update with copies beyond replicas", func() {
	ofSet := client.MatchingLabels{grovev1alpha1.LabelPartOf: "more"}
	// copies are the images of the pods of each copy, those that are ready, or all.
	copies := func(in string, all bool) string {
		var words []string
		for _, pod := range podsOf(in, ofSet)() {
			if ready := pods.Ready(&pod); pod.DeletionTimestamp == nil && (ready || all) {
				words = append(words,
					pod.Labels[grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex]+"="+pod.Spec.Containers[0].Image)
			}
		}
		slices.Sort(words)
		return strings.Join(words, " ")
	}
	// answers does the work of the scheduler and the pod grouper for all PodGangs with a question: copies beyond
	// replicas have room or not, successors have.
	answers := func(in string, room metav1.ConditionStatus) {
		GinkgoHelper()
		var gangs schedulerv1alpha1.PodGangList
		Expect(c.List(ctx, &gangs, client.InNamespace(in))).To(Succeed())
		for i := range gangs.Items {
			gang := &gangs.Items[i]
			conditions := []metav1.Condition{{Type: "Scheduled", Status: metav1.ConditionTrue,
				Reason: scheduling.ReasonPlaced}}
			asked, err := successors.Parse(gang.Annotations)
			Expect(err).NotTo(HaveOccurred())
			if asked != nil {
				answer := successors.Answer{ID: asked.ID, Fits: metav1.ConditionTrue,
					Reason: scheduling.ReasonRoomForAll}
				if asked.Adds() {
					answer.Fits, answer.Reason, answer.Sentence = room, scheduling.ReasonInfeasible,
						"no rack has 3 GPUs"
				}
				conditions = append(conditions, answer.Condition())
			}
			for j := range conditions {
				conditions[j].LastTransitionTime = metav1.Now()
			}
			written, err := json.Marshal(map[string]any{
				"apiVersion": schedulerv1alpha1.GroupVersion.String(), "kind": "PodGang",
				"metadata": map[string]any{"name": gang.Name, "namespace": in, "uid": gang.UID},
				"status":   map[string]any{"conditions": conditions},
			})
			Expect(err).NotTo(HaveOccurred())
			err = c.Status().Patch(ctx, gang, client.RawPatch(types.ApplyPatchType, written),
				client.FieldOwner("podgrouper"), client.ForceOwnership)
			if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // It went meanwhile, or is another by now.
				Expect(err).NotTo(HaveOccurred())
			}
		}
	}
	updating := func(in string) metav1.Condition {
		found := meta.FindStatusCondition(get(in, "more", &grovev1alpha1.PodCliqueSet{}).Status.Conditions,
			grovev1alpha1.ConditionUpdating)
		if found == nil {
			return metav1.Condition{}
		}
		return *found
	}
	// edited is a set with running copies, whose template changes.
	edited := func(maxUnavailable int) string {
		GinkgoHelper()
		in := namespace()
		set := createSet(in, fmt.Sprintf(`
metadata: {name: more}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 1, podSpec: {schedulerName: kai-scheduler, containers: [{name: main, image: "x:1"}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 2, minAvailable: 1, maxUnavailable: %d, maxSurge: 1}]
`, maxUnavailable))
		Eventually(func() string {
			run(in, ofSet)
			return state(in, "more")()
		}).Should(Equal("1/1/1 AllReplicasAvailable"))
		answers(in, metav1.ConditionFalse)
		edit := `[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"x:2"}]`
		Expect(c.Patch(ctx, set, client.RawPatch("application/json-patch+json", []byte(edit)))).To(Succeed())
		return in
	}
	// lives runs scheduler and kubelet, and returns the condition of the update.
	lives := func(in string, room metav1.ConditionStatus) metav1.Condition {
		answers(in, room)
		end(in, ofSet)
		run(in, ofSet)
		Expect(recorded(in)()).NotTo(ContainElement(ContainSubstring("nobody has answered")),
			"it waits for no deadline")
		return updating(in)
	}

	It("has a copy more than replicas from before the first goes until the last is back, if that copy has room", func() {
		in := edited(0)
		Eventually(func() string { return lives(in, metav1.ConditionFalse).Message }).Should(
			Equal("0 of 2 pods have the template; replica 0: " +
				"PodCliqueScalingGroup more-0-g waits for a further copy, as its maxUnavailable is 0: no rack has 3 GPUs"))
		Consistently(func() string { return lives(in, metav1.ConditionFalse).Reason }, "2s").Should(
			Equal(grovev1alpha1.ReasonSuccessorsWithoutRoom))
		Expect(copies(in, true)).To(Equal("0=x:1 1=x:1"))
		Expect(state(in, "more")()).To(HaveSuffix("AllReplicasAvailable"),
			"a gang without pods makes the set no less ready")
		Expect(podsOf(in, ofSet)()).To(HaveLen(2))

		By("room")
		var seen []string
		Eventually(func() metav1.ConditionStatus {
			condition := lives(in, metav1.ConditionTrue)
			if now := copies(in, false); len(seen) == 0 || seen[len(seen)-1] != now {
				seen = append(seen, now)
			}
			Expect(strings.Fields(copies(in, false))).NotTo(HaveLen(1), "%v", seen)
			Expect(len(strings.Fields(copies(in, true)))).To(BeNumerically("<=", 3), "%v", seen)
			Expect(get(in, "more-0-g", &grovev1alpha1.PodCliqueScalingGroup{}).Status.Replicas).To(
				BeNumerically("==", 2))
			return condition.Status
		}).Should(Equal(metav1.ConditionFalse))
		Expect(seen).To(ContainElement("0=x:1 1=x:1 2=x:2"))
		Eventually(func() string { lives(in, metav1.ConditionTrue); return copies(in, true) }).Should(
			Equal("0=x:2 1=x:2"))
		Eventually(func() int {
			var gangs schedulerv1alpha1.PodGangList
			Expect(c.List(ctx, &gangs, client.InNamespace(in))).To(Succeed())
			return len(gangs.Items)
		}).Should(Equal(2))
	})

	It("goes on without one where there is no room, and where it may", func() {
		in := edited(1)
		var messages []string
		Eventually(func() metav1.ConditionStatus {
			condition := lives(in, metav1.ConditionFalse)
			messages = append(messages, condition.Message)
			Expect(strings.Fields(copies(in, true))).NotTo(HaveLen(3))
			return condition.Status
		}).Should(Equal(metav1.ConditionFalse))
		Expect(messages).To(ContainElement(
			HaveSuffix("; without a further copy of PodCliqueScalingGroup more-0-g: no rack has 3 GPUs")))
		Expect(copies(in, true)).To(Equal("0=x:2 1=x:2"))
	})

	It("keeps its copies through a restart of the operator, and through a scale", func() {
		in := edited(0)
		Eventually(func() string { lives(in, metav1.ConditionTrue); return copies(in, true) }).Should(
			ContainSubstring("2=x:2"))
		start(levels("zone", "rack", "host"))
		scale(get(in, "more-0-g", &grovev1alpha1.PodCliqueScalingGroup{}), 3)
		Eventually(func() metav1.ConditionStatus {
			condition := lives(in, metav1.ConditionTrue)
			Expect(len(strings.Fields(copies(in, true)))).To(BeNumerically("<=", 4))
			return condition.Status
		}).Should(Equal(metav1.ConditionFalse))
		Eventually(func() string { lives(in, metav1.ConditionTrue); return copies(in, false) }).Should(
			Equal("0=x:2 1=x:2 2=x:2"))
	})
})

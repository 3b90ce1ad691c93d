package controller_test

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

var _ = Describe("An update of pods on nodes", func() {
	ofSet := client.MatchingLabels{grovev1alpha1.LabelPartOf: "room"}
	images := func(in string) func() string {
		return func() string {
			var words []string
			for _, pod := range podsOf(in, ofSet)() {
				if pod.DeletionTimestamp == nil {
					words = append(words, pod.Spec.Containers[0].Image)
				}
			}
			slices.Sort(words)
			return strings.Join(words, ", ")
		}
	}
	gang := func(in string) *schedulerv1alpha1.PodGang { return get(in, "room-0", &schedulerv1alpha1.PodGang{}) }
	question := func(in string) func() *successors.Question {
		return func() *successors.Question {
			asked, err := successors.Parse(gang(in).Annotations)
			Expect(err).NotTo(HaveOccurred())
			return asked
		}
	}
	// says writes the conditions of the PodGang that the pod grouper writes.
	says := func(in string, conditions ...metav1.Condition) {
		GinkgoHelper()
		for i := range conditions {
			conditions[i].LastTransitionTime = metav1.Now()
		}
		written, err := json.Marshal(map[string]any{
			"apiVersion": schedulerv1alpha1.GroupVersion.String(), "kind": "PodGang",
			"metadata": map[string]any{"name": "room-0", "namespace": in},
			"status":   map[string]any{"conditions": conditions},
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Status().Patch(ctx, gang(in), client.RawPatch(types.ApplyPatchType, written),
			client.FieldOwner("podgrouper"), client.ForceOwnership)).To(Succeed())
	}
	placed := metav1.Condition{Type: "Scheduled", Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced}
	answers := func(in string, fits metav1.ConditionStatus) {
		GinkgoHelper()
		asked := question(in)()
		Expect(asked).NotTo(BeNil())
		answer := successors.Answer{ID: asked.ID, Fits: fits, Reason: scheduling.ReasonInfeasible,
			Sentence: "no rack has 3 GPUs"}
		says(in, placed, answer.Condition())
	}
	// askedSince changes the moment since which the question waits for an answer, and returns the question.
	askedSince := func(in string, later time.Duration) *successors.Question {
		GinkgoHelper()
		asked := question(in)()
		asked.Asked = metav1.NewTime(asked.Asked.Add(later))
		found := gang(in)
		before := found.DeepCopy()
		found.Annotations[scheduling.AnnotationSuccessors] = asked.String()
		Expect(c.Patch(ctx, found, client.MergeFrom(before))).To(Succeed())
		return asked
	}
	updating := func(in string) func() metav1.Condition {
		return func() metav1.Condition {
			found := meta.FindStatusCondition(get(in, "room", &grovev1alpha1.PodCliqueSet{}).Status.Conditions,
				grovev1alpha1.ConditionUpdating)
			if found == nil {
				return metav1.Condition{}
			}
			return *found
		}
	}
	// edited is a set with running pods and the scheduler's conditions, whose template changes.
	edited := func() (string, *grovev1alpha1.PodCliqueSet) {
		GinkgoHelper()
		in := namespace()
		set := createSet(in, `
metadata: {name: room}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 2, minAvailable: 1, podSpec: {schedulerName: kai-scheduler, containers: [{name: main, image: "x:1"}]}}}
`)
		Eventually(func() string {
			run(in, ofSet)
			return state(in, "room")()
		}).Should(Equal("1/1/1 AllReplicasAvailable"))
		says(in, placed)
		edit := `[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"x:2"}]`
		Expect(c.Patch(ctx, set, client.RawPatch("application/json-patch+json", []byte(edit)))).To(Succeed())
		Eventually(question(in)).ShouldNot(BeNil())
		return in, set
	}

	It("waits for the word that what comes next has room, says what has none, and asks no more when it is over", func() {
		in, _ := edited()
		Consistently(images(in)).Should(Equal("x:1, x:1"), "nobody has answered")
		Expect(question(in)().Groups).To(HaveLen(1))
		Expect(question(in)().Groups[0]).To(
			And(HaveField("PodGroup", "room-0"), HaveField("SubGroup", "room-0-a"), HaveField("Pods", HaveLen(1))))

		By("a no")
		answers(in, metav1.ConditionFalse)
		Eventually(updating(in)).Should(And(HaveField("Reason", grovev1alpha1.ReasonSuccessorsWithoutRoom),
			HaveField("Message",
				"0 of 2 pods have the template; replica 0: the successors of pod 0 of PodClique room-0-a would have no room: "+
					"no rack has 3 GPUs")))
		Consistently(images(in)).Should(Equal("x:1, x:1"))
		for _, reported := range get(in, "room", &grovev1alpha1.PodCliqueSet{}).Status.PodGangStatuses {
			Expect(reported.Conditions).NotTo(ContainElement(HaveField("Type", scheduling.ConditionSuccessorsFit)),
				"the set says it by itself")
		}

		By("a yes, to this question and to the next")
		first := question(in)().ID
		answers(in, metav1.ConditionTrue)
		lives := func() string {
			end(in, ofSet)
			run(in, ofSet)
			return images(in)()
		}
		Eventually(func() string {
			Expect(lives()).NotTo(Equal("x:2, x:2"))
			return question(in)().ID
		}).ShouldNot(Equal(first))
		Consistently(lives).Should(Equal("x:1, x:2"), "the other pod has a question of its own")
		answers(in, metav1.ConditionTrue)
		Eventually(func() *successors.Question {
			lives()
			return question(in)()
		}).Should(BeNil(), "the update is over")
		Expect(images(in)()).To(Equal("x:2, x:2"))
	})

	It("goes on where nobody answers in time, and where its user does not wait", func() {
		in, _ := edited()
		asked := askedSince(in, -time.Minute)
		Eventually(func() metav1.ConditionStatus {
			end(in, ofSet)
			run(in, ofSet)
			Expect(question(in)()).To(Or(BeNil(), HaveField("ID", asked.ID)), "it does not wait again")
			return updating(in)().Status
		}).Should(Equal(metav1.ConditionFalse))
		Expect(images(in)()).To(Equal("x:2, x:2"))

		in, set := edited()
		askedSince(in, time.Hour)
		Expect(c.Patch(ctx, set, client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"packtree.dev/update-without-room":"Replace"}}}`)))).To(Succeed())
		Eventually(func() string {
			end(in, ofSet)
			return images(in)()
		}).Should(ContainSubstring("x:2"))
		Eventually(question(in)).Should(BeNil())
	})
})

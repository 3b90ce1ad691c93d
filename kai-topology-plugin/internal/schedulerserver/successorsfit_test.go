package schedulerserver_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

var _ = Describe("A question about successors", func() {
	It("is answered on the cluster as it is, again when that changes, and by the next scheduler", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 4)
		scheduler := startScheduler()
		givenPodGroup(namespace, "g",
			scheduling.PodGroupSpec{MinMember: ptr.To[int32](2), TopologyConstraint: required(rackLevel)})
		givenPods(namespace, "g", "", 2, 2)
		stood := eventuallyBound(namespace, gangOf("g"), 2)

		By("yes, where the pod itself makes the room")
		id := ask(namespace, "g", successor(namespace, "g", "g-0", 4))
		Eventually(answer(namespace, "g")).Should(Equal(successors.Answer{
			ID: id, Fits: metav1.ConditionTrue, Reason: scheduling.ReasonRoomForAll,
			Sentence: "each of the new pods would have a node",
		}))

		By("no, in one sentence, where the successor is too large")
		id = ask(namespace, "g", successor(namespace, "g", "g-0", 6))
		Eventually(answer(namespace, "g")).Should(Equal(successors.Answer{
			ID: id, Fits: metav1.ConditionFalse, Reason: scheduling.ReasonInfeasible,
			Sentence: "the gang needs one " + rackLevel +
				", and running pods tie it to z1/r1: 0 of 1 pods fit, one asking for 6 " + string(gpu) +
				", no node having more than 4",
		}))

		By("a node elsewhere, which is no help, and one in the rack, which is")
		givenNode("z1", "r2", 0, 8)
		givenNode("z1", "r1", 7, 8)
		Eventually(answer(namespace, "g")).Should(And(HaveField("ID", id), HaveField("Fits", metav1.ConditionTrue)))

		By("a scheduler that starts anew, which says the same")
		before := successorsFit(namespace, "g")
		kill(scheduler)
		scheduler = startScheduler()
		eventuallyWorks()
		Consistently(func() metav1.Condition { return successorsFit(namespace, "g") }, "2s").Should(Equal(before))

		By("others on both nodes")
		givenPodGroup(namespace, "others", scheduling.PodGroupSpec{MinMember: ptr.To[int32](2)})
		givenPods(namespace, "others", "", 2, 5)
		eventuallyBound(namespace, gangOf("others"), 2)
		Eventually(answer(namespace, "g")).Should(And(HaveField("ID", id), HaveField("Fits", metav1.ConditionFalse)))

		By("nobody, once nobody asks; and nothing has come of it")
		ask(namespace, "g")
		Eventually(answer(namespace, "g")).Should(BeZero())
		Expect(placementOf(namespace, gangOf("g"))).To(Equal(stood))
		kill(scheduler)
	})
})

// successor asks about one pod of a gang without subgroups, whose successor asks for devices.
func successor(namespace, gang, name string, gpus int64) successors.Group {
	made := pod(namespace, gang, "", "unused", gpus)
	return successors.Group{PodGroup: gang, Pods: []string{name}, Template: successors.TemplateOf(made)}
}

// ask writes a question to a PodGroup, and returns its ID; without groups it takes the question back.
func ask(namespace, name string, groups ...successors.Group) string {
	GinkgoHelper()
	var written *string
	question, err := successors.New(groups, metav1.Now())
	Expect(err).NotTo(HaveOccurred())
	if len(groups) > 0 {
		written = ptr.To(question.String())
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{scheduling.AnnotationSuccessors: written},
	}})
	Expect(err).NotTo(HaveOccurred())
	_, err = packtree.SchedulingV2alpha2().PodGroups(namespace).Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
	return question.ID
}

// successorsFit returns that condition of a PodGroup, the zero value if there is none.
func successorsFit(namespace, name string) metav1.Condition {
	GinkgoHelper()
	podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	if condition := meta.FindStatusCondition(podGroup.Status.Conditions,
		scheduling.ConditionSuccessorsFit); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

func answer(namespace, name string) func() successors.Answer {
	return func() successors.Answer {
		return successors.AnswerIn([]metav1.Condition{successorsFit(namespace, name)})
	}
}

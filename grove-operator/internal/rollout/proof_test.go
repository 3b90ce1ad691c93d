package rollout_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/rollout"
)

// decide decides about all replicas as the set's controller does.
func (w *world) decide(situation rollout.Situation, objects rollout.Objects) rollout.Decision {
	update := rollout.Begin(situation)
	var steps []rollout.Decision
	for _, replica := range update.Queue {
		if !update.Takes(replica) {
			break
		}
		if decision, decided := update.Step(replica, objects.Replica(replica, w.podsOf(replica))); decided {
			steps = append(steps, objects.Prove(objects.InPlace(decision), w.now))
		}
	}
	return update.End(steps)
}

// observedGangs are the PodGangs of the existing PodCliques; nil in a world without PodGangs.
func (w *world) observedGangs() map[string]*schedulerv1alpha1.PodGang {
	if !w.known {
		return nil
	}
	for _, podClique := range w.podCliques {
		w.gang(podClique.Labels[grovev1alpha1.LabelPodGang])
	}
	return w.gangs
}

// ask writes a question for the operator; empty removes it, and the pod grouper's answer with it.
func (w *world) ask(gang *schedulerv1alpha1.PodGang, written string) {
	gang.Annotations = nil
	if written == "" {
		gang.Status.Conditions = nil
		return
	}
	gang.Annotations = map[string]string{scheduling.AnnotationSuccessors: written}
}

// words are the possible answers of a scheduler.
func (w *world) words() []metav1.ConditionStatus {
	return []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse,
		metav1.ConditionUnknown}
}

// answer answers the question of a PodGang, if it has one.
func (w *world) answer(gang *schedulerv1alpha1.PodGang, fits metav1.ConditionStatus) {
	if gang == nil {
		return
	}
	question, err := successors.Parse(gang.Annotations)
	if err != nil {
		w.t.Fatal(err)
	}
	if question == nil {
		return
	}
	answer := successors.Answer{ID: question.ID, Fits: fits, Reason: "R", Sentence: "because"}
	meta.SetStatusCondition(&gang.Status.Conditions, answer.Condition())
}

func (w *world) answerAll() {
	for _, gang := range w.gangs {
		w.answer(gang, metav1.ConditionTrue)
	}
}

func (w *world) switchWait(t *rapid.T) {
	value := rapid.SampledFrom(
		[]string{"", grovev1alpha1.UpdateWithoutRoomWait, grovev1alpha1.UpdateWithoutRoomReplace}).Draw(t,
		"without room")
	metav1.SetMetaDataAnnotation(&w.set.ObjectMeta, grovev1alpha1.AnnotationUpdateWithoutRoom, value)
}

// checkProved: a pod leaves its node only if the scheduler said that its successor has room, or said that it does not
// answer, or did not answer within a minute.
func (w *world) checkProved(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" || !w.known ||
		w.set.Annotations[grovev1alpha1.AnnotationUpdateWithoutRoom] == grovev1alpha1.UpdateWithoutRoomReplace {
		return
	}
	member, _ := layout.Find(w.set, w.podCliques[pod.Labels[grovev1alpha1.LabelPodClique]])
	for _, gang := range w.gangs {
		question, err := successors.Parse(gang.Annotations)
		if err != nil || question == nil || question.Adds() {
			continue
		}
		answer := successors.AnswerIn(gang.Status.Conditions)
		asksAboutIt := slices.ContainsFunc(question.Groups, func(group successors.Group) bool {
			return group.SubGroup == member.Name && group.PodGroup == member.Gang &&
				slices.Contains(group.Pods, pod.Name) &&
				group.Template.Labels[seen] == w.lookOfClique(member.Clique).label
		})
		switch {
		case answer.ID == question.ID && answer.Fits != metav1.ConditionFalse && asksAboutIt:
			return
		case answer.ID != question.ID && w.now.Sub(question.Asked.Time) >= time.Minute:
			return
		}
	}
	w.t.Fatalf("pod %s leaves its node, and nobody has said that its successor has room:\n%s", pod.Name, w)
}

// checkNobodyAsks: without an update there are no questions.
func (w *world) checkNobodyAsks() {
	for name, gang := range w.gangs {
		if gang.Annotations != nil {
			w.t.Fatalf("the update is over, and %s has %v", name, gang.Annotations)
		}
	}
}

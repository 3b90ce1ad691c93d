package rollout

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
)

// answerDeadline is how long an update waits for an answer whether successors have room. After that it goes on as if it
// had not asked, and asks no more.
const answerDeadline = time.Minute

// Asking is a question to write to a PodGang.
type Asking struct {
	// Gang is the name of the PodGang.
	Gang     string
	Question successors.Question
}

// Prove returns a decision in which no pod leaves its node before the scheduler says that its successor has room: the
// question is asked, and these pods stay until the answer is yes. Pods without a node are replaced at once. If no
// scheduler answers such questions, or the user does not want to wait, the decision is unchanged. Copies that may be
// made beyond replicas come first.
func (o Objects) Prove(decision Decision, now time.Time) Decision {
	decision = o.add(decision, now)
	waits := func(pod *corev1.Pod) bool { return !pods.Scheduled(pod) }
	standing := slices.DeleteFunc(slices.Clone(decision.Delete), waits)
	if len(standing) == 0 || !o.waitsForRoom() {
		return decision
	}
	question, gang, err := o.question(standing, now)
	switch {
	case err != nil:
		return unproved(decision, err.Error())
	case gang == nil || silent(gang):
		return decision
	}
	switch asked, answer := questionOf(gang), answerOf(gang); {
	case answer.ID != "" && answer.Fits == metav1.ConditionTrue && asked.Covers(&question):
		return decision
	case answer.ID == question.ID && answer.Fits == metav1.ConditionFalse:
		decision.Held, decision.Why = true, answer.Sentence
		decision.Waiting = "the successors of " + decision.Of + " would have no room"
	case answer.ID == question.ID:
		return decision
	default:
		if decision = o.await(decision, &question, asked, now); decision.Recheck.IsZero() {
			return decision
		}
	}
	decision.Ask = append(decision.Ask, Asking{Gang: gang.Name, Question: question})
	decision.Delete = slices.DeleteFunc(slices.Clone(decision.Delete), pods.Scheduled)
	return decision
}

// await makes a decision wait for an answer until the deadline, or go on if there is none by then.
func (o Objects) await(decision Decision, question, asked *successors.Question, now time.Time) Decision {
	if asked != nil && asked.ID == question.ID {
		question.Asked = asked.Asked
	}
	replaces := func(question *successors.Question) bool { return !question.Adds() }
	switch ignored := o.ignored(now, replaces); {
	case ignored == nil:
		decision.Recheck = question.Asked.Add(answerDeadline)
	case ignored.ID == question.ID: // Otherwise that was reported before.
		return unproved(decision, "nobody has answered for "+answerDeadline.String())
	}
	return decision
}

// unproved is a decision that is carried out although it is not known whether successors have room.
func unproved(decision Decision, why string) Decision {
	decision.Unproved = fmt.Sprintf("%s: replaced without knowing whether what comes next has room: %s",
		decision.Of, why)
	return decision
}

// questionOf is the question of a PodGang; nil if it has none. A malformed one was not written by the operator.
func questionOf(gang *schedulerv1alpha1.PodGang) *successors.Question {
	question, err := successors.Parse(gang.Annotations)
	if err != nil {
		return nil
	}
	return question
}

// answerOf is the answer to the question of a PodGang; the zero value if it has none, or if the answer is to an earlier
// question.
func answerOf(gang *schedulerv1alpha1.PodGang) successors.Answer {
	question, answer := questionOf(gang), successors.AnswerIn(gang.Status.Conditions)
	if question == nil || answer.ID != question.ID {
		return successors.Answer{}
	}
	return answer
}

// waitsForRoom reports whether pods stay if their successors would have no room.
func (o Objects) waitsForRoom() bool {
	return o.Set.Annotations[grovev1alpha1.AnnotationUpdateWithoutRoom] != grovev1alpha1.UpdateWithoutRoomReplace
}

// silent reports whether it is known that no scheduler answers for a gang: the operator itself had to write its
// condition Scheduled.
func silent(gang *schedulerv1alpha1.PodGang) bool {
	scheduled := meta.FindStatusCondition(gang.Status.Conditions, schedulerv1alpha1.ConditionScheduled)
	return scheduled != nil && (scheduled.Reason == schedulerv1alpha1.ReasonMinimaOnNodes ||
		scheduled.Reason == schedulerv1alpha1.ReasonMinimaNotOnNodes)
}

// ignored returns the question of any gang of the set that has a given kind and was not answered within the deadline;
// nil if there is none. It stays in the gang until the update is over, so that the update does not wait a second time.
func (o Objects) ignored(now time.Time, kind func(*successors.Question) bool) *successors.Question {
	for _, gang := range o.Gangs {
		question := questionOf(gang)
		if question == nil || !kind(question) || answerOf(gang).ID != "" {
			continue
		}
		if !now.Before(question.Asked.Add(answerDeadline)) {
			return question
		}
	}
	return nil
}

// question asks about pods, and returns the PodGang for the question: of several the first by name. The PodGang is nil
// if it does not exist, or if another scheduler than ours places the pods.
func (o Objects) question(
	standing []*corev1.Pod, now time.Time,
) (successors.Question, *schedulerv1alpha1.PodGang, error) {
	carrier := ""
	for _, pod := range standing {
		if gang := pod.Labels[grovev1alpha1.LabelPodGang]; carrier == "" || gang < carrier {
			carrier = gang
		}
	}
	groups := o.leaving(standing)
	ofAnother := func(group successors.Group) bool { return group.Template.Spec.SchedulerName != kai.SchedulerName }
	if slices.ContainsFunc(groups, ofAnother) {
		return successors.Question{}, nil, nil
	}
	question, err := successors.New(groups, metav1.NewTime(now))
	return question, o.Gangs[carrier], err
}

// leaving are pods that leave and their successors, by PodClique.
func (o Objects) leaving(pods []*corev1.Pod) []successors.Group {
	byClique := map[string]*successors.Group{}
	for _, pod := range pods {
		name := pod.Labels[grovev1alpha1.LabelPodClique]
		if byClique[name] == nil {
			byClique[name] = &successors.Group{
				PodGroup: pod.Labels[grovev1alpha1.LabelPodGang], SubGroup: name, Template: o.template(name),
			}
		}
		byClique[name].Pods = append(byClique[name].Pods, pod.Name)
	}
	groups := make([]successors.Group, 0, len(byClique))
	for _, group := range byClique {
		groups = append(groups, *group)
	}
	return groups
}

// template has the fields that the scheduler reads of the next pods of a PodClique, whatever their index.
func (o Objects) template(name string) corev1.PodTemplateSpec {
	podClique := o.podClique(name)
	member, _ := layout.Find(o.Set, podClique)
	return o.templateOf(member, podClique)
}

func (o Objects) templateOf(member layout.Member, podClique *grovev1alpha1.PodClique) corev1.PodTemplateSpec {
	maker := pods.Maker{
		Set: o.Set, Member: member, PodClique: podClique, DefaultScheduler: o.DefaultScheduler, Startup: o.Startup,
	}
	pod := maker.Make("", 0)
	for _, label := range []string{
		grovev1alpha1.LabelPodIndex, grovev1alpha1.LabelStandsForCopy, grovev1alpha1.LabelStandsForReplica,
	} {
		delete(pod.Labels, label)
	}
	return successors.TemplateOf(pod)
}

// Questions are the annotations of PodGangs that have to change, by the PodGang's name: a question, or empty. Until the
// update is over an outdated question stays, to save the writes; but not one that would add existing copies, since
// their pods would be counted as leaving for others once more.
func (o Objects) Questions(decision Decision) map[string]string {
	changes := map[string]string{}
	for _, asking := range decision.Ask {
		if before := questionOf(o.Gangs[asking.Gang]); before == nil || before.ID != asking.Question.ID {
			changes[asking.Gang] = asking.Question.String()
		}
	}
	for name, gang := range o.Gangs {
		if question := questionOf(gang); question != nil && o.added(question) && changes[name] == "" {
			changes[name] = ""
		}
	}
	progress := decision.Progress
	underway := progress != nil && progress.UpdateEndedAt == nil
	if underway && o.waitsForRoom() && StrategyOf(o.Set) == grovev1alpha1.RollingRecreate {
		return changes
	}
	for name, gang := range o.Gangs {
		if _, asks := gang.Annotations[scheduling.AnnotationSuccessors]; asks {
			changes[name] = ""
		}
	}
	return changes
}

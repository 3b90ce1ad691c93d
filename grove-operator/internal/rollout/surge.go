package rollout

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/successors"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
)

// Surge are copies of a scaling group beyond replicas, which an update makes before it takes others away.
type Surge struct {
	// Group is the name of the scaling group in the template.
	Group string
	// Most is how many copies are to be made.
	Most int32
	// Next are the pods that are replaced when the new copies are available, by copy, as many copies as are made.
	Next [][]*corev1.Pod
	// Required is set if no copy may be taken away otherwise.
	Required bool
}

// Copies is how many copies of a scaling group are wanted: its replicas, and those that an update adds.
func Copies(set *grovev1alpha1.PodCliqueSet, group *grovev1alpha1.PodCliqueScalingGroup) int32 {
	return copiesOf(set, group, func(surge grovev1alpha1.PodCliqueScalingGroupSurge) bool { return surge.Proved })
}

// GangCopies is for how many copies of a scaling group there are PodGangs, or a part of the base gang: also for copies
// of which the scheduler has not said yet whether they have room.
func GangCopies(set *grovev1alpha1.PodCliqueSet, group *grovev1alpha1.PodCliqueScalingGroup) int32 {
	return copiesOf(set, group, func(grovev1alpha1.PodCliqueScalingGroupSurge) bool { return true })
}

func copiesOf(
	set *grovev1alpha1.PodCliqueSet, group *grovev1alpha1.PodCliqueScalingGroup,
	counts func(grovev1alpha1.PodCliqueScalingGroupSurge) bool,
) int32 {
	replicas := layout.Bounded(group.Spec.Replicas)
	if set == nil {
		return replicas
	}
	replica, _ := layout.ReplicaOf(group)
	turn, _ := turnOf(set.Status.UpdateProgress, replica)
	for _, surge := range turn.Surge {
		config := layout.Group(set, surge.Name)
		if config != nil && layout.ScalingGroup(set.Name, replica, surge.Name) == group.Name && counts(surge) {
			return within(config, replicas, surge.Copies)
		}
	}
	return replicas
}

// within bounds the copies of a group with so many wanted replicas. A group that was scaled below its minAvailable gets
// no more: they would belong to its base gang.
func within(config *grovev1alpha1.PodCliqueScalingGroupConfig, replicas, copies int32) int32 {
	if replicas < layout.GroupMinAvailable(config) {
		return replicas
	}
	return max(replicas, min(copies, layout.Bounded(replicas+layout.Bounded(ptr.Deref(config.MaxSurge, 0)))))
}

// keepSurge drops from the recorded turn of a replica the copies that are no longer beyond replicas, or are too many.
func (o Objects) keepSurge(decision Decision) {
	for i := range decision.Progress.CurrentlyUpdating {
		turn := &decision.Progress.CurrentlyUpdating[i]
		if turn.ReplicaIndex != decision.Replica {
			continue
		}
		turn.Surge = slices.DeleteFunc(turn.Surge, func(surge grovev1alpha1.PodCliqueScalingGroupSurge) bool {
			config := layout.Group(o.Set, surge.Name)
			if config == nil {
				return true
			}
			group := o.scalingGroup(turn.ReplicaIndex, config)
			return group != nil &&
				within(config, layout.Bounded(group.Spec.Replicas), surge.Copies) <= group.Spec.Replicas
		})
		for j := range turn.Surge {
			surge := &turn.Surge[j]
			config := layout.Group(o.Set, surge.Name)
			if group := o.scalingGroup(turn.ReplicaIndex, config); group != nil {
				surge.Copies = within(config, layout.Bounded(group.Spec.Replicas), surge.Copies)
			}
		}
	}
}

// recorded returns the record of a group whose copies are being added in a replica, and creates it if there is none.
func recorded(
	progress *grovev1alpha1.PodCliqueSetUpdateProgress, replica int32, group string, copies int32,
) *grovev1alpha1.PodCliqueScalingGroupSurge {
	i := slices.IndexFunc(progress.CurrentlyUpdating, func(turn grovev1alpha1.PodCliqueSetReplicaUpdate) bool {
		return turn.ReplicaIndex == replica
	})
	turn := &progress.CurrentlyUpdating[i] // Step has recorded the turn.
	at := slices.IndexFunc(turn.Surge, func(surge grovev1alpha1.PodCliqueScalingGroupSurge) bool {
		return surge.Name == group
	})
	if at < 0 {
		at = len(turn.Surge)
		turn.Surge = append(turn.Surge, grovev1alpha1.PodCliqueScalingGroupSurge{Name: group, Copies: copies})
	}
	return &turn.Surge[at]
}

// add returns a decision in which copies beyond replicas are made before any are taken away, if the scheduler says that
// they have room, and that the successors of the next copies have room after them. The question is first about all
// copies that may be added, and then about one fewer whenever these have no room. If the answer for the last one is no,
// or there is no answer, the decision is unchanged, unless no copy may be taken away.
func (o Objects) add(decision Decision, now time.Time) Decision {
	o.keepSurge(decision)
	wish := decision.Surge
	if wish == nil {
		decision.Without = o.refused(decision)
		return decision
	}
	config := layout.Group(o.Set, wish.Group)
	group := o.scalingGroup(decision.Replica, config)
	if why := o.unanswerable(decision.Replica, config, group); why != "" {
		return without(decision, group, why)
	}
	replicas := layout.Bounded(group.Spec.Replicas)
	record := recorded(decision.Progress, decision.Replica, wish.Group, within(config, replicas, replicas+wish.Most))
	question, gang, err := o.addition(decision.Replica, config, replicas, record.Copies, wish.Next, now)
	answer := successors.Answer{}
	if gang != nil {
		answer = answerOf(gang)
	}
	switch {
	case err != nil:
		return without(decision, group, err.Error())
	case gang == nil:
		return adding(decision, "PodGangs do not exist yet for further copies of PodCliqueScalingGroup "+group.Name)
	case answer.ID == question.ID && answer.Fits == metav1.ConditionTrue:
		record.Proved = true
		return adding(decision, "further copies are being added to PodCliqueScalingGroup "+group.Name)
	case answer.ID == question.ID && answer.Fits == metav1.ConditionFalse && record.Copies > replicas+1:
		record.Copies--
		return adding(decision, fmt.Sprintf(
			"PodCliqueScalingGroup %s has no room for %d further copies, and may have for fewer", group.Name,
			record.Copies+1-replicas))
	case answer.ID == question.ID:
		return without(decision, group, answer.Sentence)
	case o.ignored(now, (*successors.Question).Adds) != nil:
		return without(decision, group, "nobody has answered for "+answerDeadline.String())
	}
	if asked := questionOf(gang); asked != nil && asked.ID == question.ID {
		question.Asked = asked.Asked
	}
	decision = adding(decision,
		"the scheduler is asked about room for further copies of PodCliqueScalingGroup "+group.Name)
	decision.Ask, decision.Recheck = []Asking{{Gang: gang.Name, Question: question}}, question.Asked.Add(answerDeadline)
	return decision
}

// adding is a decision that takes nothing away, since copies may be made first.
func adding(decision Decision, waiting string) Decision {
	decision.Delete, decision.Images, decision.Waiting = nil, nil, waiting
	return decision
}

// without is a decision that is carried out although no copy is made first, if that is allowed.
func without(decision Decision, group *grovev1alpha1.PodCliqueScalingGroup, why string) Decision {
	if !decision.Surge.Required {
		decision.Without = withoutCopy(group.Name, why)
		return decision
	}
	decision = adding(decision, waitsForCopy(group.Name))
	decision.Held, decision.Why = true, why
	return decision
}

func waitsForCopy(group string) string {
	return fmt.Sprintf("PodCliqueScalingGroup %s waits for a further copy, as its maxUnavailable is 0", group)
}

func withoutCopy(group, why string) string {
	return fmt.Sprintf("without a further copy of PodCliqueScalingGroup %s: %s", group, why)
}

// refused says that the scheduler has no room for copies that a decision wants, as long as it was not asked again.
func (o Objects) refused(decision Decision) string {
	turn, _ := turnOf(decision.Progress, decision.Replica)
	for _, surge := range turn.Surge {
		config := layout.Group(o.Set, surge.Name)
		group := o.scalingGroup(decision.Replica, config)
		if surge.Proved || group == nil {
			continue
		}
		gang := o.gangOf(decision.Replica, config, group.Spec.Replicas)
		if gang == nil {
			continue
		}
		if answer := answerOf(gang); answer.ID != "" && answer.Fits != metav1.ConditionTrue {
			return withoutCopy(group.Name, answer.Sentence)
		}
	}
	return ""
}

// gangOf is the PodGang of a copy outside of the base gang; nil if it does not exist.
func (o Objects) gangOf(
	replica int32, config *grovev1alpha1.PodCliqueScalingGroupConfig, copyIndex int32,
) *schedulerv1alpha1.PodGang {
	minAvailable := layout.GroupMinAvailable(config)
	return o.Gangs[layout.ScaledGang(o.Set.Name, replica, config.Name, copyIndex, minAvailable)]
}

// unanswerable says why a question about further copies of a group cannot be answered; empty if it can.
func (o Objects) unanswerable(
	replica int32, config *grovev1alpha1.PodCliqueScalingGroupConfig, group *grovev1alpha1.PodCliqueScalingGroup,
) string {
	base, replicas := o.Gangs[layout.BaseGang(o.Set.Name, replica)], layout.Bounded(group.Spec.Replicas)
	switch {
	case within(config, replicas, replicas+1) == replicas:
		return "a group gets none below its minAvailable, nor beyond the most copies that it may have"
	case base == nil || silent(base):
		return "no scheduler says whether it has room"
	}
	for _, member := range layout.Copy(o.Set, replica, config, replicas) {
		scheduler := o.templateOf(member, children.PodClique(o.Set, member, nil)).Spec.SchedulerName
		if scheduler != kai.SchedulerName {
			return fmt.Sprintf("scheduler %s does not say whether it has room", scheduler)
		}
	}
	return ""
}

// addition is the question about the copies of a group beyond replicas, and about the pods that are replaced next. It
// is written to the PodGang of the first of these copies; it is nil as long as one of them has none.
func (o Objects) addition(
	replica int32, config *grovev1alpha1.PodCliqueScalingGroupConfig, replicas, copies int32,
	next [][]*corev1.Pod, now time.Time,
) (successors.Question, *schedulerv1alpha1.PodGang, error) {
	carrier, complete := o.gangOf(replica, config, replicas), true
	var groups []successors.Group
	for copyIndex := replicas; copyIndex < copies; copyIndex++ {
		for _, member := range layout.Copy(o.Set, replica, config, copyIndex) {
			complete = complete && o.Gangs[member.Gang] != nil
			groups = append(groups, successors.Group{
				PodGroup: member.Gang, SubGroup: member.Name, Added: member.Clique.Spec.Replicas,
				Template: o.templateOf(member, children.PodClique(o.Set, member, nil)),
			})
		}
	}
	leaving := slices.Concat(next[:min(len(next), int(copies-replicas))]...)
	groups = append(groups, o.leaving(leaving)...)
	question, err := successors.New(groups, metav1.NewTime(now))
	if !complete {
		carrier = nil
	}
	return question, carrier, err
}

// added reports whether all copies that a question would add exist.
func (o Objects) added(question *successors.Question) bool {
	return question.Adds() && !slices.ContainsFunc(question.Groups, func(group successors.Group) bool {
		return group.Added > 0 && o.podClique(group.SubGroup) == nil
	})
}

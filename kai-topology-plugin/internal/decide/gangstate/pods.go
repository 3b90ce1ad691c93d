package gangstate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/podgrouptree"
)

// PodChanged records what has become of a pod. Old is nil if it is new, and pod if it is gone.
func (s *State) PodChanged(old, pod *corev1.Pod, now time.Time) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pod == nil {
		s.podGone(&effects, old, now)
		return effects
	}
	key, member := gang.KeyOf(pod)
	if old != nil && SameMember(old, pod) {
		if member && gang.Pending(pod) && AsksElse(old, pod) {
			s.askAnew(&effects, s.record(key))
		}
		return effects
	}
	if old != nil {
		if oldKey, _ := gang.KeyOf(old); old.UID != pod.UID {
			s.podGone(&effects, old, now) // This is another one of the same name, after a watch had to begin anew.
		} else if oldKey != key {
			s.podMoved(&effects, old, pod, now)
		}
		if mayAsk(pod) {
			effects.activate(pod)
		}
	}
	if !gang.Pending(pod) {
		s.astray.Delete(pod.UID)
		delete(s.turnedAway, pod.UID)
	}
	if member {
		r := s.record(key)
		s.podShown(&effects, r, pod, now)
		s.tidy(r)
	}
	return effects
}

// podGone is for a pod that is no more.
func (s *State) podGone(e *Effects, pod *corev1.Pod, now time.Time) {
	s.astray.Delete(pod.UID)
	delete(s.turnedAway, pod.UID)
	if key, member := gang.KeyOf(pod); member {
		r := s.record(key)
		stood := r.members.Stands(pod.UID)
		r.members.Drop(pod.UID)
		s.vacate(e, r, pod, stood, true, now)
	}
	s.podLeft(e, pod, now)
	s.awaitedLeft(e, pod.UID)
}

// SameMember reports whether an update changes nothing that a gang could notice. The scheduler's own notes in the
// status of a pod are the most frequent updates, and must not wake the gang that they are about.
func SameMember(old, pod *corev1.Pod) bool {
	oldKey, _ := gang.KeyOf(old)
	key, _ := gang.KeyOf(pod)
	return old.UID == pod.UID && oldKey == key && gang.LeafOf(old) == gang.LeafOf(pod) &&
		gang.Expected(old) == gang.Expected(pod) && gang.Pending(old) == gang.Pending(pod) &&
		gang.Standing(old) == gang.Standing(pod)
}

// AsksElse reports whether filters may see another pod after an update: what can be changed of a pod that waits, such
// as tolerations and labels, and claims for devices that were made for it.
func AsksElse(old, pod *corev1.Pod) bool {
	return !maps.Equal(old.Labels, pod.Labels) ||
		!equality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses) ||
		!equality.Semantic.DeepEqual(old.Spec, pod.Spec)
}

// mayAsk reports whether nothing about the pod itself holds it. Such a pod asks again after every change that its
// gang could notice. PreEnqueue may have held it for another gang, or before it had one, so that its gang does not
// know that it is held; and the queue does not ask again about a gate, or anything else, while it is PreEnqueue that
// holds the pod.
func mayAsk(pod *corev1.Pod) bool { return gang.Pending(pod) && !gang.Expected(pod) }

// podShown is for a pod that is new to its gang, or new in its state.
func (s *State) podShown(e *Effects, r *record, pod *corev1.Pod, now time.Time) {
	if r.assumed[pod.UID] != nil && len(pod.Spec.SchedulingGates) > 0 {
		return // This is old: it has been put on a node since, and a gate is never put back.
	}
	stood := r.members.Stands(pod.UID)
	r.members.Show(pod, s.ours)
	s.stand(pod, gang.Standing(pod))
	s.regroup(e, r, pod)
	switch {
	case !stood && gang.Standing(pod):
		s.fill(e, r, pod)
		s.trimSeats(e, r)
		if r.assumed[pod.UID] == nil { // Another program has bound it.
			s.edit(r)
			s.dropMovesTo(e, r, pod.Spec.NodeName)
			s.activateFollowing(e, r.key)
		}
	case !gang.Standing(pod) && pod.Spec.NodeName != "":
		s.vacate(e, r, pod, stood, pod.Status.Phase == corev1.PodFailed, now)
	}
	if stood && !gang.Standing(pod) {
		s.seatLost(e, r, fmt.Sprintf("pod %s is leaving its node", pod.Name))
	}
	missed := false
	if !gang.Pending(pod) {
		s.settleAsker(e, r, pod)
		delete(r.gated, pod.UID)
		delete(r.ranks, pod.UID) // It has its rank itself now.
		missed = s.settle(e, r, pod.UID, standsOn(pod), now)
		s.markBegun(r)
	}
	if r.overtaken != nil && s.waitsInVain(r) {
		// Another program has bound what was missing, or a binding succeeded that was thought to have failed.
		s.stopWaiting(e, r)
	}
	if missed {
		s.breakPlan(e, r, PodLost, fmt.Sprintf("pod %s was taken out of the plan of the gang", pod.Name))
		e.reject([]types.UID{pod.UID}, "the pod is not scheduled by this plan any more")
	}
	s.mendWait(e, r, pod)
	e.writeStatus(r.key)
	if gang.Pending(pod) {
		r.newcomer(pod.UID)
		if r.early.Has(pod.UID) {
			e.activate(pod)
		}
	}
	r.early.Delete(pod.UID)
	// A pod that another program has bound may have been the last missing one.
	s.admit(e, r, now)
	s.followerAppeared(e, r, now)
}

// standsOn is the node on which a pod stands; empty if it stands on none.
func standsOn(pod *corev1.Pod) string {
	if !gang.Standing(pod) {
		return ""
	}
	return pod.Spec.NodeName
}

// regroup is for a pod that may have come to another subgroup. What it was planned for is no place for it then, unless
// it is being bound there.
func (s *State) regroup(e *Effects, r *record, pod *corev1.Pod) {
	onItsWay, planned := r.assumed[pod.UID], r.plannedPod(pod.UID)
	if !gang.Pending(pod) || planned == nil || gang.LeafOf(planned) == gang.LeafOf(pod) {
		return
	}
	if onItsWay != nil {
		onItsWay.pod = gang.On(onItsWay.pod.Spec.NodeName, pod)
	}
	if onItsWay == nil || !onItsWay.letGo {
		s.planAnew(e, r, GangChanged, fmt.Sprintf("pod %s is in another subgroup now", pod.Name))
	}
}

// mendWait plans a gang anew if its pods are all assumed and wait although they are all that it needs: the event about
// a running pod came after the last of them had asked.
func (s *State) mendWait(e *Effects, r *record, pod *corev1.Pod) {
	if r.plan != nil && !r.plan.letGo && len(r.plan.room.pods) == 0 && r.members.OnNodes(r.plan.tree) {
		s.planAnew(e, r, GangChanged, fmt.Sprintf("the update of pod %s came late", pod.Name))
	}
}

// podMoved is for a pod that is in another gang now, or in none. If it waits on a node for its old gang, this call must
// reject it there. If it is being bound there, its new gang has it on its way; the room that its old gang held for a
// replacement is the room that it is in.
func (s *State) podMoved(e *Effects, old, pod *corev1.Pod, now time.Time) {
	key, _ := gang.KeyOf(old)
	r := s.known(key)
	known := r.assumed[old.UID]
	switch {
	case known == nil:
	case known.letGo:
		s.fillOn(e, r, known.pod)
		s.handOver(e, r, known, pod, now)
	default:
		s.astray.Insert(old.UID)
		s.callBack(e)
	}
	s.podLeft(e, old, now)
}

// handOver has a pod that is being bound be on its way for the gang in which it is now, which may have been planned
// without it, or have a plan to send it elsewhere.
func (s *State) handOver(e *Effects, from *record, known *assumed, pod *corev1.Pod, now time.Time) {
	s.stand(known.pod, false)
	delete(from.assumed, pod.UID)
	claim := from.claims[pod.UID]
	delete(from.claims, pod.UID)
	e.Provided = e.Provided || claim != ""
	key, member := gang.KeyOf(pod)
	if !member {
		return
	}
	known.pod = gang.On(known.pod.Spec.NodeName, pod)
	s.stand(known.pod, true)
	to := s.record(key)
	if to.leaveSeat(pod.UID) { // It was in that gang before, and its binding failed then.
		s.givenBack(e, to.key)
	}
	to.assumed[pod.UID] = known
	to.members.Assume(pod, s.ours)
	if claim != "" {
		to.claims[pod.UID] = claim
	}
	s.gangChanged(e, to, now)
}

// callBack rejects pods that wait for a gang that they have left, until they are rejected. One of them may not have
// been in the list of waiting pods when it left the gang.
func (s *State) callBack(e *Effects) { e.reject(sets.List(s.astray), "the pod is in another gang now") }

// podLeft is for a pod that is no member of its gang any more. What was planned around it does not hold.
func (s *State) podLeft(e *Effects, pod *corev1.Pod, now time.Time) {
	key, member := gang.KeyOf(pod)
	if !member {
		return
	}
	r := s.record(key)
	r.members.Drop(pod.UID)
	s.stand(pod, false)
	delete(r.ranks, pod.UID)
	delete(r.gated, pod.UID)
	r.early.Delete(pod.UID)
	s.settle(e, r, pod.UID, "", now)
	s.gangChanged(e, r, now)
	if !r.placed() {
		s.activateRelated(e, r.podGroup)
	} else {
		s.activateCounted(e, r.podGroup)
	}
	s.tidy(r)
}

// placed reports whether any pod of the gang is on a node, or about to be.
func (r *record) placed() bool {
	return r.members.Placed() || len(r.nodes()) > 0
}

// gangChanged has a gang planned anew, whatever it waited for. If it cannot be planned now, its pods are left where
// they are: what makes it possible wakes them. A gang that is deleted loses its pods one by one, and each would wake
// all the others.
func (s *State) gangChanged(e *Effects, r *record, now time.Time) {
	s.edit(r)
	s.markBegun(r)
	s.breakPlan(e, r, GangChanged, "the gang was changed")
	s.forgetForeseen(e, r.key)
	s.endPreemption(e, r)
	s.endOverdue(e, r)
	s.settleDebt(e, r)
	r.last = nil
	e.Provided = e.Provided || len(r.claims) > 0
	e.writeStatus(r.key)
	if r.overtaken != nil && s.waitsInVain(r) {
		s.stopWaiting(e, r)
	}
	if s.reasonToHold(e, r, nil, now) != "" {
		r.held = slices.ContainsFunc(r.members.Pending(), func(pod *corev1.Pod) bool { return r.gated[pod.UID] == nil })
		return
	}
	r.held = false
	r.takeGated(e)
	s.activatePending(e, r)
}

// Queued records that a pod of a gang wants to enter the queue, and says why it has to wait, empty if it has not. It
// then waits until the gang can be planned.
func (s *State) Queued(key gang.Key, pod *corev1.Pod, now time.Time) (reason string, effects Effects) {
	effects = s.change(key, func(r *record, e *Effects) {
		if reason = s.reasonToHold(e, r, pod, now); reason == "" {
			r.isComplete(now)
			delete(r.gated, pod.UID)
		} else {
			r.gated[pod.UID] = pod
		}
	})
	return reason, effects
}

// reasonToHold is empty if the gang can be planned. Pod may be nil.
func (s *State) reasonToHold(e *Effects, r *record, pod *corev1.Pod, now time.Time) string {
	switch {
	case !s.opened:
		return "waiting for PodGroups and Topologies to be listed"
	case r.podGroup == nil:
		return gang.AwaitsPodGroup(r.key)
	}
	if reason := r.attempts.givenUp(r.podGroup); reason != "" {
		return reason
	}
	tree, held := s.parse(r)
	if held == nil {
		held = r.members.Incomplete(r.needs(tree))
	}
	switch held = held.UnlessMends(func() bool { return r.begun && s.mends(r, now) }); {
	case held != nil:
		return held.Message
	case pod != nil && gang.MadeForOther(r.podGroup, pod):
		return gang.OtherTopologyMessage(r.podGroup, pod)
	case pod != nil && tree.Leaf(gang.LeafOf(pod)) == nil:
		return fmt.Sprintf("subgroup %q is not a leaf of PodGroup %s", gang.LeafOf(pod), r.key.Name)
	}
	return s.awaitFollower(e, r, now)
}

// admit activates the pods that PreEnqueue holds, if it would not hold them any more, and pods that were left alone
// when the gang was changed and could not be planned.
func (s *State) admit(e *Effects, r *record, now time.Time) {
	if (len(r.gated) > 0 || r.held) && s.reasonToHold(e, r, nil, now) == "" {
		r.takeGated(e)
		if r.held {
			r.held = false
			s.activatePending(e, r)
		}
	}
}

func (r *record) takeGated(e *Effects) {
	e.activate(slices.Collect(maps.Values(r.gated))...)
	clear(r.gated)
}

// edit has no refusal of a gang outlive its decision if that has begun already.
func (s *State) edit(r *record) {
	s.edits++
	r.edited = s.edits
}

// activatePending lets all pending pods of a gang try again, for the edit that there was last. PreEnqueue still has its
// say.
func (s *State) activatePending(e *Effects, r *record) {
	r.edited = s.edits
	e.activate(r.members.Pending()...)
	if asker := r.asker(); asker != nil {
		e.activate(asker)
	}
}

// call lets the pod try again that asks for a gang which has no place, unless it has been called already and did not
// have its turn since.
func (r *record) call(e *Effects) {
	if asker := r.asker(); asker != nil && !r.last.called {
		r.last.called = true
		e.activate(asker)
	}
}

// markBegun looks anew whether a gang is begun. A gang without a valid PodGroup is not.
func (s *State) markBegun(r *record) {
	r.begun = false
	if r.podGroup == nil {
		return
	}
	tree, _ := s.parse(r)
	r.begun = tree != nil && r.members.Begun(r.needs(tree))
}

// needs returns what the gang of a tree still needs.
func (r *record) needs(tree *podgrouptree.Tree) *podgrouptree.Tree {
	return r.members.Needs(tree, maps.Values(r.done))
}

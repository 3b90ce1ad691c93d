package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// follow does the next step of a plan.
func (m *mender) follow(r *round, podGroup *scheduling.PodGroup, plan repair.Plan) {
	key := gang.KeyOfPodGroup(podGroup)
	due := r.due[key]
	switch {
	case plan.Reason != scheduling.ReasonMoveAhead:
		why := "the replacement pods fit in the current domain"
		if plan.Reason != "" {
			why = plan.Sentence(due)
		}
		m.abandon(r, podGroup, why)
		r.said[key] = gangstate.Repair{Reason: plan.Reason, Message: plan.Sentence(due)}
		switch plan.Reason {
		case scheduling.ReasonMoveBudget:
			r.soon(repairSoon) // No event says when the budget lets more pods go.
		case scheduling.ReasonMoveNotAllowed:
			move := m.gangs.MoveOf(podGroup) // It is advice only.
			move.Progress = move.Rested(gangstate.Respite{Until: r.now.Add(adviceRest), Of: r.policies[key]})
			m.effects.do(m.gangs.Proceed(key, move))
			r.soon(adviceRest)
		}
	case r.now.Before(due) && !r.held.Has(key):
		r.said[key] = gangstate.Repair{Reason: plan.Reason, Message: plan.Sentence(due)}
		r.soon(due.Sub(r.now))
	default:
		r.said[key] = gangstate.Repair{
			Reason: scheduling.ReasonMoving,
			Message: fmt.Sprintf("moves %s: room is held there for %s",
				plan.What(), brief.Count(len(plan.Seats), "pod")),
		}
		m.hold(r, podGroup, plan)
	}
}

// hold holds the seats of a plan, or has the pods evicted that are to leave for them if they are held, and written.
func (m *mender) hold(r *round, podGroup *scheduling.PodGroup, plan repair.Plan) {
	r.soon(confirmApart)
	key, move := gang.KeyOfPodGroup(podGroup), m.gangs.MoveOf(podGroup)
	switch {
	case plan.Confirmed && len(move.Seats) < len(plan.Seats):
		return // Some are lost since the plan was made. It is made anew in a moment.
	case plan.Confirmed:
		move.Progress = move.Decided(plan.What(), plan.Leaving, len(plan.Seats))
		if seatsWritten(podGroup) >= min(len(plan.Seats), gangstate.MostSeats) {
			move.Progress = move.Evicts()
			r.evict = append(r.evict, podGroup)
		}
		m.effects.do(m.gangs.Proceed(key, move))
		return
	}
	held, effects := m.gangs.HoldMove(key, gangstate.Move{
		Seats: plan.Seats, Until: m.clock.Now().Add(m.holdFor(r, podGroup)), Began: r.began,
		Progress: move.Over().Decided(plan.What(), plan.Leaving, len(plan.Seats)),
	}, m.left, r.now)
	if m.effects.do(effects); held { // If not, it is planned anew in a moment.
		metrics.RepairMove(metrics.MoveHeld)
	}
}

// seatsWritten returns how many seats the status of a PodGroup has, if it says that they are held for a move.
func seatsWritten(podGroup *scheduling.PodGroup) (seats int) {
	if !gangstate.IsMoving(podGroup) {
		return 0
	}
	for _, held := range podGroup.Status.Seats {
		seats += len(held.Nodes)
	}
	return seats
}

// abandon gives up the seats of a gang if some are held, and says nothing more of it.
func (m *mender) abandon(r *round, podGroup *scheduling.PodGroup, why string) {
	if move := m.gangs.MoveOf(podGroup); len(move.Seats) > 0 {
		m.giveUp(podGroup, move, why)
	}
	r.said[gang.KeyOfPodGroup(podGroup)] = gangstate.Repair{}
}

// giveUp ends a move.
func (m *mender) giveUp(podGroup *scheduling.PodGroup, move gangstate.Move, why string) {
	metrics.RepairMove(metrics.MoveGivenUp)
	key := gang.KeyOfPodGroup(podGroup)
	_, effects := m.gangs.HoldMove(key, gangstate.Move{Progress: move.Over()}, nil, m.clock.Now())
	m.effects.do(effects)
	m.effects.announce(key, gangevents.News{
		Type: corev1.EventTypeWarning, Reason: gangevents.MoveGivenUp, Note: "the move of pods is given up: " + why,
	})
}

// evictMoved evicts the pods of a gang that are to leave. If a budget forbids the first, nothing has happened, and the
// move is given up; if it forbids others, these are tried again for as long as the seats are held.
func (m *mender) evictMoved(ctx context.Context, r *round, podGroup *scheduling.PodGroup) {
	key, move := gang.KeyOfPodGroup(podGroup), m.gangs.MoveOf(podGroup)
	for _, pod := range m.stillStanding(move.Leaving) {
		evicted, err := m.evictForMove(ctx, key, pod)
		switch {
		case apierrors.IsTooManyRequests(err) && move.Evicted == 0:
			move.Progress = move.Rested(gangstate.Respite{Until: m.clock.Now().Add(budgetRest), Of: r.policies[key]})
			m.giveUp(podGroup, move, fmt.Sprintf("pod %s cannot be evicted: %s", pod.Name, err))
			return
		case err != nil:
			klog.FromContext(ctx).Error(err, "Evicting a pod that is to move", "pod", klog.KObj(pod), "podGroup", key)
			return
		case evicted:
			move.Progress = move.Moved()
			m.effects.do(m.gangs.Proceed(key, move))
		}
	}
	if move.Step != gangstate.MoveMade {
		move.Progress, move.Until = move.Made(), m.clock.Now().Add(gangstate.MoveHold(podGroup))
		m.effects.do(m.gangs.Proceed(key, move))
		metrics.RepairMove(metrics.MoveMade)
		klog.FromContext(ctx).Info("Moved pods of a gang", "podGroup", key, "pods", move.Evicted, "what", move.What)
		m.effects.announce(key, gangevents.News{
			Type: corev1.EventTypeNormal, Reason: gangevents.Moved,
			Note: fmt.Sprintf("%s evicted, moving %s", brief.Count(move.Evicted, "pod"), move.What),
		})
	}
}

// evictForMove evicts a pod, and reports whether that was necessary: it may be gone, or another one of its name.
func (m *mender) evictForMove(ctx context.Context, key gang.Key, pod *corev1.Pod) (evicted bool, err error) {
	err = m.handle.ClientSet().PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return false, nil
	case err != nil:
		return false, err
	}
	metrics.RepairMovedPod()
	m.effects.announcer.Announce(gangevents.Subject{}, gangevents.News{
		Pod: pod, Type: corev1.EventTypeNormal, Reason: gangevents.Moved,
		Note: fmt.Sprintf("Evicted so that PodGroup %s is whole again elsewhere", key),
	})
	return true, nil
}

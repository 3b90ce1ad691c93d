package repair

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// giveUp plans that no pod of a gang moves for which seats are held, if that is not needed any more. What others are
// about to leave does not count: it may be for a gang that would have to move otherwise.
func (p *planner) giveUp(ctx context.Context, hit *breach) error {
	if len(hit.Held) == 0 {
		return nil
	}
	return p.stay(ctx, hit)
}

// confirm plans again what a gang has seats for, if they are still good.
func (p *planner) confirm(ctx context.Context, hit *breach) error {
	if len(hit.Held) == 0 {
		return nil
	}
	for _, moved := range hit.choices() {
		turn, moving := hit.without(moved)
		pinned, complete := pin(turn.Gang.Pending, hit.Held)
		if !complete {
			continue
		}
		turn.Gang.Pending = pinned
		again, err := p.option(ctx, hit, turn, moved, moving)
		if err != nil {
			return err
		}
		if again != nil && len(again.seats) == len(hit.Held) {
			again.plan.Confirmed = true
			p.take(hit, again)
		}
		return nil // If they are not good any more, it is planned anew.
	}
	return nil
}

// pin returns the pods that have a seat, each restricted to its node, and whether every seat has a pod.
func pin(pods []*corev1.Pod, held []gangstate.Placement) (pinned []*corev1.Pod, complete bool) {
	left := slices.Clone(held)
	for _, pod := range pods {
		at := slices.IndexFunc(left, func(seat gangstate.Placement) bool { return gang.LeafOf(seat.Pod) == gang.LeafOf(pod) })
		if at < 0 {
			continue
		}
		pinned = append(pinned, pinnedTo(pod, left[at].Node))
		left = slices.Delete(left, at, at+1)
	}
	return pinned, len(left) == 0
}

// pinnedTo returns a pod that no other node takes.
func pinnedTo(pod *corev1.Pod, node string) *corev1.Pod {
	pinned := pod.DeepCopy()
	if pinned.Spec.Affinity == nil {
		pinned.Spec.Affinity = &corev1.Affinity{}
	}
	if pinned.Spec.Affinity.NodeAffinity == nil {
		pinned.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &pinned.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *required == nil {
		*required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	only := corev1.NodeSelectorRequirement{
		Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
	}
	for i := range (*required).NodeSelectorTerms {
		term := &(*required).NodeSelectorTerms[i]
		term.MatchFields = append(term.MatchFields, only)
	}
	return pinned
}

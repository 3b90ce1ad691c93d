package repair

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// exchange has a gang move that was to stay in room which others leave, so that another one can stay there instead: one
// whose move costs more, or that has no place. Before is the scene without anybody mended, and fixed are gangs that stay
// without anybody's leaving.
func (s *scene) exchange(
	ctx context.Context, before scene, hits []*breach, mended map[*breach]*option, fixed sets.Set[*breach], cheapest mover,
) error {
	for _, hit := range hits {
		for _, other := range hits {
			own, stays := mended[hit], mended[other]
			if own != nil && len(own.moving) == 0 {
				break
			}
			if stays == nil || len(stays.moving) > 0 || fixed.Has(other) || !s.mayMoveFor(other, hit, own) {
				continue
			}
			if err := s.tryExchange(ctx, before, hit, other, mended, cheapest); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayMoveFor reports whether a gang may move so that another one can stay beside it. Own is what that one would move.
func (s *scene) mayMoveFor(other, hit *breach, own *option) bool {
	above := own == nil && other.turn.Rank.Priority > hit.turn.Rank.Priority
	return other.after <= hit.after && !above && s.beside(other, hit)
}

// tryExchange exchanges two gangs if that is worth it. Nobody else is decided anew.
func (s *scene) tryExchange(
	ctx context.Context, before scene, hit, other *breach, mended map[*breach]*option, cheapest mover,
) error {
	own, was := mended[hit], *s
	s.reserved, s.left, s.leaving = maps.Clone(before.reserved), before.left, before.leaving
	for third, how := range mended {
		if third == hit || third == other {
			continue
		}
		if own != nil && how.needs(own.moving) {
			*s = was
			return nil
		}
		s.take(how)
	}
	move, err := cheapest(ctx, other)
	if err == nil && move != nil && (own == nil || move.cost.Compare(own.cost) < 0) {
		var stays *option
		if stays, err = s.after(ctx, move, hit); stays != nil {
			s.settle(mended, other, move)
			s.settle(mended, hit, stays)
			return nil
		}
	}
	*s = was
	return err
}

// needs reports whether somebody goes to a node that pods leave.
func (o *option) needs(leaving []*corev1.Pod) bool {
	return slices.ContainsFunc(o.seats, func(seat Seat) bool {
		return slices.ContainsFunc(leaving, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == seat.Node })
	})
}

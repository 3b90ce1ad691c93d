package repair

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// exchange has a gang move that was to stay in room which others leave, so that another one can stay there instead: one
// whose move costs more, or that has no place. Before is the scene without anybody mended, and fixed are gangs that
// stay without anybody's leaving.
func (s *scene) exchange(
	ctx context.Context, before scene, hits []*breach, mended map[*breach]*option,
	fixed sets.Set[*breach], cheapest mover,
) error {
	costly := slices.SortedStableFunc(slices.Values(hits), func(a, b *breach) int {
		return mended[b].compare(mended[a])
	})
	for _, hit := range costly {
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
	// The other would go back to this room if it were decided first.
	stays, err := s.stay(ctx, hit)
	if stays != nil {
		s.take(stays)
		var move *option
		if move, err = s.stayOrMove(ctx, other, cheapest); move != nil && move.compare(own) < 0 {
			mended[hit] = stays
			s.settle(mended, other, move)
			return nil
		}
	}
	*s = was
	return err
}

// stayOrMove lets a gang stay if it can, and else finds the move that costs least; nil if there is none.
func (s *scene) stayOrMove(ctx context.Context, hit *breach, cheapest mover) (*option, error) {
	if stays, err := s.stay(ctx, hit); err != nil || stays != nil {
		return stays, err
	}
	return cheapest(ctx, hit)
}

// compare is negative if an option costs less than another; nil, which is to be mended by nothing, costs more than any.
func (o *option) compare(other *option) int {
	switch {
	case o != nil && other != nil:
		return o.cost.Compare(other.cost)
	case o != nil:
		return -1
	case other != nil:
		return 1
	}
	return 0
}

// needs reports whether somebody goes to a node that pods leave.
func (o *option) needs(leaving []*corev1.Pod) bool {
	return slices.ContainsFunc(o.seats, func(seat Seat) bool {
		return slices.ContainsFunc(leaving, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == seat.Node })
	})
}

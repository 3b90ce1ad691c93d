package repair

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// revision decides gangs once more when all have had their turn.
type revision struct {
	*scene
	// before is the scene without anybody mended.
	before scene
	hits   []*breach
	mended map[*breach]*option
	// fixed are gangs that stay without anybody's leaving.
	fixed    sets.Set[*breach]
	cheapest mover
}

// exchange has a gang move that was to stay in room which others leave, so that another one can stay there instead: one
// whose move costs more, or that has no place.
func (r *revision) exchange(ctx context.Context) error {
	costly := slices.SortedStableFunc(slices.Values(r.hits), func(a, b *breach) int {
		return r.mended[b].compare(r.mended[a])
	})
	for _, hit := range costly {
		for _, other := range r.hits {
			own, stays := r.mended[hit], r.mended[other]
			if own != nil && len(own.moving) == 0 {
				break
			}
			if stays == nil || len(stays.moving) > 0 || r.fixed.Has(other) || !r.mayMoveFor(other, hit, own) {
				continue
			}
			if err := r.decideAgain(ctx, hit, other, r.stay); err != nil {
				return err
			}
		}
	}
	return nil
}

// precede decides gangs without a place before others that move and may have another place to go to. Those do not wait
// longer for it than they would.
func (r *revision) precede(ctx context.Context) error {
	for _, hit := range r.hits {
		if r.mended[hit] != nil {
			continue
		}
		was := *r.scene
		r.resume(r.fixed.Has)
		place, err := r.stayOrMove(ctx, hit)
		*r.scene = was
		for i := 0; i < len(r.hits) && place != nil && r.mended[hit] == nil && err == nil; i++ {
			other := r.mended[r.hits[i]]
			if other != nil && len(other.moving) > 0 && hit.after <= r.hits[i].after {
				err = r.decideAgain(ctx, hit, r.hits[i], r.stayOrMove)
			}
		}
		if err == nil && r.mended[hit] == nil {
			_, err = r.cheapest(ctx, hit) // What is said of it is what holds beside those that are mended.
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mayMoveFor reports whether a gang may move so that another one can stay beside it. Own is what that one would move.
func (s *scene) mayMoveFor(other, hit *breach, own *option) bool {
	above := own == nil && other.turn.Rank.Priority > hit.turn.Rank.Priority
	return other.after <= hit.after && !above && s.beside(other, hit)
}

// decideAgain decides a gang first and another one after it, if both are mended then for less. Nobody else is decided
// anew.
func (r *revision) decideAgain(ctx context.Context, hit, other *breach, first mover) error {
	was, own := *r.scene, r.mended[hit]
	var leaving []*corev1.Pod
	for _, how := range []*option{own, r.mended[other]} {
		if how != nil {
			leaving = append(leaving, how.moving...)
		}
	}
	third := func(one *breach) bool { return one != hit && one != other }
	for one, how := range r.mended {
		if third(one) && how.needs(leaving) {
			return nil
		}
	}
	r.resume(third)
	// The other would go back to this room if it were decided first.
	placed, err := first(ctx, hit)
	if placed != nil {
		r.take(placed)
		var next *option
		if next, err = r.stayOrMove(ctx, other); next != nil && next.compare(own) < 0 {
			r.mended[hit] = placed
			r.settle(r.mended, other, next)
			return nil
		}
	}
	*r.scene = was
	return err
}

// resume makes the scene what it is when only some of the gangs are mended.
func (r *revision) resume(some func(*breach) bool) {
	r.reserved, r.left, r.leaving = maps.Clone(r.before.reserved), r.before.left, r.before.leaving
	for _, hit := range r.hits {
		if how := r.mended[hit]; how != nil && some(hit) {
			r.take(how)
		}
	}
}

// stayOrMove lets a gang stay if it can, and else finds the move that costs least; nil if there is none.
func (r *revision) stayOrMove(ctx context.Context, hit *breach) (*option, error) {
	if stays, err := r.stay(ctx, hit); err != nil || stays != nil {
		return stays, err
	}
	return r.cheapest(ctx, hit)
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

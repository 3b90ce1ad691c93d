package repair

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/turns"
)

// scene is a cluster in which nodes have failed, and gangs are mended one after the other.
type scene struct {
	cluster *inventory.Inventory
	table   *turns.Table
	nodes   map[string]*corev1.Node
	// gone are pods that have left their nodes, and reserved the pods that stand for them where they go.
	gone     []*corev1.Pod
	reserved clusterview.Reserved
	// left are pods that had to move, of gangs that are mended, and leaving all that are evicted for it.
	left, leaving []*corev1.Pod
	// ground, if it is set, records where the answers look.
	ground *ground
}

func sceneOf(cluster *inventory.Inventory) scene {
	s := scene{cluster: cluster, nodes: map[string]*corev1.Node{}, reserved: clusterview.Reserved{}}
	for _, node := range cluster.Nodes {
		s.nodes[node.Name] = node
	}
	return s
}

// option is a way to mend a gang: where its pods get seats, and what moves for it, if anything.
type option struct {
	moved []*group
	// moving are the pods of these groups that could have stayed where they are.
	moving []*corev1.Pod
	seats  []Seat
	cost   Cost
	// plan is what the planner says of it.
	plan Plan
}

// mover returns the move of a gang that costs least, of those that mend it and are allowed; nil if there is none.
type mover func(ctx context.Context, hit *breach) (*option, error)

// mend decides about gangs together and returns how each is mended; those that are not are missing. First come the
// gangs that can stay, in the order of the scheduler, then moves in this order. Where the move of one that comes later
// costs less and lets the gang stay, that one moves instead. Gangs without a place are tried again when others have
// moved. At last gangs that stay in room which others leave give it to those whose moves cost more than their own, and
// gangs still without a place go before others that move.
func (s *scene) mend(ctx context.Context, hits []*breach, cheapest mover) (map[*breach]*option, error) {
	before, mended := *s, map[*breach]*option{}
	before.reserved = maps.Clone(s.reserved)
	for _, hit := range hits {
		stays, err := s.stay(ctx, hit)
		if err != nil {
			return nil, err
		}
		s.settle(mended, hit, stays)
	}
	fixed := sets.KeySet(mended)
	for moved := true; moved; {
		moved = false
		for i, hit := range hits {
			if mended[hit] != nil {
				continue
			}
			later := slices.DeleteFunc(slices.Clone(hits[i+1:]), func(other *breach) bool {
				return mended[other] != nil
			})
			if err := s.mendOne(ctx, hit, later, mended, cheapest); err != nil {
				return nil, err
			}
			moved = moved || mended[hit] != nil
		}
	}
	again := &revision{scene: s, before: before, hits: hits, mended: mended, fixed: fixed, cheapest: cheapest}
	if err := again.exchange(ctx); err != nil {
		return nil, err
	}
	return mended, again.precede(ctx)
}

// mendOne finds out how a gang is mended that cannot stay as things are.
func (s *scene) mendOne(
	ctx context.Context, hit *breach, later []*breach, mended map[*breach]*option, cheapest mover,
) error {
	stays, err := s.freed(ctx, hit, mended)
	if err != nil || stays != nil {
		s.settle(mended, hit, stays)
		return err
	}
	own, err := cheapest(ctx, hit)
	if err != nil {
		return err
	}
	other, moves, stays, err := s.spare(ctx, hit, own, later, cheapest)
	if other != nil {
		s.settle(mended, other, moves)
		own = stays
	}
	s.settle(mended, hit, own)
	return err
}

// settle makes the scene what it will be when a gang is mended; nil if it is not.
func (s *scene) settle(mended map[*breach]*option, hit *breach, how *option) {
	if how != nil {
		mended[hit] = how
		s.take(how)
	}
}

// freed lets a gang stay after all, if one that stood beside it has moved; nil if that does not help.
func (s *scene) freed(ctx context.Context, hit *breach, mended map[*breach]*option) (*option, error) {
	for other, how := range mended {
		if len(how.moving) > 0 && s.beside(other, hit) {
			return s.stay(ctx, hit)
		}
	}
	return nil, nil
}

// spare looks for the gang that can move instead of hit, after which hit can stay: the one whose move costs least. It
// need not wait longer, and if hit cannot move, has no higher priority. The scene stays as it is.
func (s *scene) spare(
	ctx context.Context, hit *breach, own *option, later []*breach, cheapest mover,
) (found *breach, moves, stays *option, err error) {
	for _, other := range later {
		if !s.mayMoveFor(other, hit, own) {
			continue
		}
		move, err := cheapest(ctx, other)
		if err != nil {
			return nil, nil, nil, err
		}
		if move == nil || moves != nil && move.cost.Compare(moves.cost) >= 0 {
			continue
		}
		if own != nil && move.cost.Compare(own.cost) >= 0 {
			// It is worth it nevertheless if the other has to move anyway.
			stays, err := s.after(ctx, own, other)
			if err != nil {
				return nil, nil, nil, err
			}
			if stays != nil {
				continue
			}
		}
		beside, err := s.after(ctx, move, hit)
		if err != nil {
			return nil, nil, nil, err
		}
		if beside != nil {
			found, moves, stays = other, move, beside
		}
	}
	return found, moves, stays, nil
}

// after lets a gang stay where another one has moved; nil if it cannot. The scene stays as it is.
func (s *scene) after(ctx context.Context, move *option, hit *breach) (*option, error) {
	later := *s
	later.reserved = maps.Clone(s.reserved)
	later.take(move)
	return later.stay(ctx, hit)
}

// beside reports whether pods of a gang stand where a group of another, which has lost pods, may stay.
func (s *scene) beside(other, hit *breach) bool {
	return slices.ContainsFunc(hit.ladders, func(ladder []*group) bool {
		at := slices.IndexFunc(ladder, func(rung *group) bool { return len(rung.pods) > 0 })
		if at < 0 || ladder[at].Constraint.RequiredTopologyLevel == "" {
			return true
		}
		site := s.domainOf(ladder[at], sets.New(ladder[at].pods[0].Spec.NodeName))
		return slices.ContainsFunc(other.kept, func(pod *corev1.Pod) bool {
			return s.domainOf(ladder[at], sets.New(pod.Spec.NodeName)) == site
		})
	})
}

// domainOf returns the domain in which nodes are, of the level that a group requires.
func (s *scene) domainOf(of *group, nodes sets.Set[string]) string {
	keys := s.cluster.LevelKeys(of.Constraint.Topology)
	depth := slices.Index(keys, of.Constraint.RequiredTopologyLevel)
	for _, name := range sets.List(nodes) {
		if path := along(s.nodes[name].Labels, keys); depth >= 0 && depth < len(path) {
			return path[:depth+1].String()
		}
	}
	return ""
}

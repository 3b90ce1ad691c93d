// Package repair foretells what becomes of gangs when nodes fail: which are mended where they stand, which by moving
// some of their pods, and which are lost. Every answer is a decision of the scheduler's own code on a copy of the cluster.
package repair

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/turns"
)

// Forecast is what would become of the gangs that have what they need, and stand on nodes that fail.
type Forecast struct {
	Failure
	// MendedInPlace are gangs (as namespace/name) that need no pod but those on the failed nodes placed anew. So do gangs
	// that have enough pods without them.
	MendedInPlace []string `json:"mendedInPlace"`
	// MendedByMoving are the groups whose other pods have to move too.
	MendedByMoving []Move `json:"mendedByMoving"`
	// Lost are gangs for which there is no room even if all of their pods move.
	Lost []string `json:"lost"`
}

// Move is a group whose pods all get other nodes.
type Move struct {
	Gang string `json:"gang"`
	// SubGroup is empty for the whole gang.
	SubGroup string `json:"subGroup"`
	// Pods counts those that would otherwise stay where they are.
	Pods int `json:"pods"`
}

// Forecaster foretells failures of one cluster.
type Forecaster struct {
	table *turns.Table
	// standing are the gangs that have what they need, in the order in which the scheduler would mend them.
	standing []turns.Turn
	// on has, by node, the indexes in standing of the gangs on it.
	on map[string][]int
	// empty are the nodes without pods.
	empty []string
	// ground, if it is set, is told where forecasts look.
	ground *ground
}

// New takes a cluster as it is; its filters run until ctx is done.
func New(ctx context.Context, cluster *inventory.Inventory) (*Forecaster, error) {
	table, err := turns.Set(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return forecasterOn(table), nil
}

func forecasterOn(table *turns.Table) *Forecaster {
	f, cluster := &Forecaster{table: table, on: map[string][]int{}}, table.Inventory()
	there := sets.New[string]()
	for _, node := range cluster.Nodes {
		there.Insert(node.Name)
	}
	for _, turn := range turns.In(cluster) {
		// Pods whose node is gone are lost already.
		turn.Gang.Standing = slices.DeleteFunc(turn.Gang.Standing, func(pod *corev1.Pod) bool { return !there.Has(pod.Spec.NodeName) })
		if turn.Gang.Tree == nil || len(turn.Gang.Standing) == 0 || !turn.Gang.Satisfied(gang.NoPending) {
			continue
		}
		for _, node := range gang.NodesOf(turn.Gang.Standing) {
			f.on[node] = append(f.on[node], len(f.standing))
		}
		f.standing = append(f.standing, turn)
	}
	f.empty = emptyNodes(cluster)
	return f
}

// Foretell says what becomes of the gangs that a failure hits. Those that can be mended where they stand are mended first,
// as that moves nobody; then the others in their order, each with as few moved pods as possible.
func (f *Forecaster) Foretell(ctx context.Context, failure Failure) (*Forecast, error) {
	forecast, _, err := f.foretell(ctx, failure, nil)
	return forecast, err
}

// foretell is Foretell without some nodes on which nobody stands. It returns the nodes that successors of pods take, too.
func (f *Forecaster) foretell(ctx context.Context, failure Failure, absent []string) (*Forecast, []string, error) {
	forecast := &Forecast{Failure: failure, MendedInPlace: []string{}, MendedByMoving: []Move{}, Lost: []string{}}
	scene := &scene{reserved: clusterview.Reserved{}, ground: f.ground}
	failed := sets.New(failure.Nodes...)
	var hit []*breach
	for _, at := range f.hitBy(failure) {
		found := breachOf(f.standing[at], failed)
		scene.gone = append(scene.gone, found.lost...)
		hit = append(hit, found)
	}
	if len(hit) == 0 {
		return forecast, nil, nil
	}
	err := f.table.Under(turns.Change{Failed: slices.Concat(failure.Nodes, absent), Gone: scene.gone}, func(table *turns.Table) error {
		scene.table = table
		var moving []*breach
		for _, next := range hit {
			mended, err := scene.try(ctx, next, nil)
			if err != nil {
				return err
			}
			if !mended {
				moving = append(moving, next)
				continue
			}
			forecast.MendedInPlace = append(forecast.MendedInPlace, next.key())
		}
		for _, next := range moving {
			moved, err := scene.mend(ctx, next)
			if err != nil {
				return err
			}
			if moved == nil {
				forecast.Lost = append(forecast.Lost, next.key())
			}
			forecast.MendedByMoving = append(forecast.MendedByMoving, moved...)
		}
		return nil
	})
	return forecast, slices.Sorted(maps.Keys(scene.reserved)), err
}

// hitBy returns the gangs that stand on the nodes of a failure, in their order.
func (f *Forecaster) hitBy(failure Failure) []int {
	hit := sets.New[int]()
	for _, node := range failure.Nodes {
		hit.Insert(f.on[node]...)
	}
	return sets.List(hit)
}

// scene is a cluster in which nodes have failed, and gangs are mended one after the other.
type scene struct {
	table *turns.Table
	// gone are pods that have left their nodes, and reserved the pods that stand for them where they go.
	gone     []*corev1.Pod
	reserved clusterview.Reserved
	// left are pods that had to move, of gangs that are mended.
	left []*corev1.Pod
	// ground, if it is set, is told where the answers look.
	ground *ground
}

// try decides a gang whose pods in some of its groups move, and if it fits, keeps the room.
func (s *scene) try(ctx context.Context, hit *breach, moved []*group) (bool, error) {
	answer, turn, moving, err := s.decide(ctx, hit, moved)
	if err != nil || !turns.Placed(answer) {
		return false, err
	}
	s.keep(seatsOf(turn, answer), moving)
	return true, nil
}

// keep has pods leave their nodes, and others stand where they got seats.
func (s *scene) keep(seats []Seat, moving []*corev1.Pod) {
	for _, seat := range seats {
		s.reserved[seat.Node] = append(s.reserved[seat.Node], seat.Pod)
	}
	s.left = append(s.left, moving...)
}

// seatsOf returns where the pods of a gang go that an answer has a node for.
func seatsOf(turn turns.Turn, answer *decision.Answer) (seats []Seat) {
	for _, pod := range turn.Gang.Pending {
		if node, ok := answer.Nodes[pod.Name]; ok {
			seats = append(seats, Seat{Pod: pod, Node: node})
		}
	}
	return seats
}

// decide answers for a gang on the scene: its lost pods, and those of the groups that move, are to be placed.
func (s *scene) decide(ctx context.Context, hit *breach, moved []*group) (*decision.Answer, turns.Turn, []*corev1.Pod, error) {
	turn, moving := hit.without(moved)
	answer, err := s.answer(ctx, turn, moving)
	return answer, turn, moving, err
}

// answer answers for a gang of which pods have left their nodes.
func (s *scene) answer(ctx context.Context, turn turns.Turn, moving []*corev1.Pod) (answer *decision.Answer, err error) {
	change := turns.Change{Gone: slices.Concat(s.left, moving), Reserved: s.reserved}
	err = s.table.Under(change, func(table *turns.Table) (err error) {
		answer, err = table.Decide(ctx, turn, 0)
		return err
	})
	if err == nil && s.ground != nil {
		err = s.ground.add(turn, change.Gone, answer)
	}
	return answer, err
}

// mend finds the least that has to move for a gang to be whole again; nil if nothing helps.
func (s *scene) mend(ctx context.Context, hit *breach) ([]Move, error) {
	whole := hit.root()
	answer, _, _, err := s.decide(ctx, hit, []*group{whole})
	if err != nil || !turns.Placed(answer) {
		return nil, err
	}
	stays := false
	for _, moved := range hit.choices() {
		if podsIn(moved) == 0 && stays {
			continue // Groups that have lost all of their pods: the question is the same whichever they are.
		}
		stays = stays || podsIn(moved) == 0
		mended, err := s.try(ctx, hit, moved)
		if err != nil {
			return nil, err
		}
		if mended {
			return hit.moves(moved), nil
		}
	}
	_, err = s.try(ctx, hit, []*group{whole})
	return hit.moves([]*group{whole}), err
}

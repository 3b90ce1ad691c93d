// Package repair foretells what becomes of gangs when nodes fail: which are mended where they stand, which by moving
// some of their pods, and which are lost. Every answer is a decision of the scheduler's own code on a copy of the
// cluster.
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
	// MendedInPlace are gangs (as namespace/name) that need no pod but those on the failed nodes placed anew. So do
	// gangs that have enough pods without them.
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
	scene scene
	// standing are the gangs that have what they need, in the order in which the scheduler would mend them.
	standing []turns.Turn
	// on has, by node, the indexes in standing of the gangs on it.
	on map[string][]int
	// empty are the nodes without pods.
	empty []string
	// ground, if it is set, records where forecasts look.
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
	cluster := table.Inventory()
	f := &Forecaster{table: table, scene: sceneOf(cluster), on: map[string][]int{}}
	there := sets.New[string]()
	for _, node := range cluster.Nodes {
		there.Insert(node.Name)
	}
	for _, turn := range turns.In(cluster) {
		// Pods whose node is gone are lost already.
		turn.Gang.Standing = slices.DeleteFunc(turn.Gang.Standing, func(pod *corev1.Pod) bool {
			return !there.Has(pod.Spec.NodeName)
		})
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

// Foretell says what becomes of the gangs that a failure hits. Those that can be mended where they stand are mended
// first, as that moves nobody; then the others, each with the move that costs least.
func (f *Forecaster) Foretell(ctx context.Context, failure Failure) (*Forecast, error) {
	forecast, _, err := f.foretell(ctx, failure, nil)
	return forecast, err
}

// foretell is Foretell without some nodes on which nobody stands. It returns the nodes that successors of pods take,
// too.
func (f *Forecaster) foretell(ctx context.Context, failure Failure, absent []string) (*Forecast, []string, error) {
	forecast := &Forecast{Failure: failure, MendedInPlace: []string{}, MendedByMoving: []Move{}, Lost: []string{}}
	scene := f.scene // What is decided stays in this copy.
	scene.reserved = clusterview.Reserved{}
	scene.ground = f.ground
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
	// Gangs of which some pods are left go before those of which none is.
	slices.SortStableFunc(hit, func(x, y *breach) int { return x.turn.Rank.Compare(y.turn.Rank) })
	change := turns.Change{Failed: slices.Concat(failure.Nodes, absent), Gone: scene.gone}
	err := f.table.Under(change, func(table *turns.Table) error {
		scene.table = table
		mended, err := scene.mend(ctx, hit, scene.cheapest)
		for _, next := range hit {
			switch how := mended[next]; {
			case how == nil:
				forecast.Lost = append(forecast.Lost, next.key())
			case len(how.moved) == 0:
				forecast.MendedInPlace = append(forecast.MendedInPlace, next.key())
			default:
				forecast.MendedByMoving = append(forecast.MendedByMoving, next.moves(how.moved)...)
			}
		}
		return err
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

// option decides a gang whose pods in some of its groups move; nil if it does not fit.
func (s *scene) option(ctx context.Context, hit *breach, moved []*group) (*option, error) {
	answer, turn, moving, err := s.decide(ctx, hit, moved)
	if err != nil || !turns.Placed(answer) {
		return nil, err
	}
	return &option{moved: moved, moving: moving, seats: seatsOf(turn, answer), cost: hit.costOf(moved)}, nil
}

// stay decides a gang of which nobody moves; nil if it does not fit.
func (s *scene) stay(ctx context.Context, hit *breach) (*option, error) {
	return s.option(ctx, hit, nil)
}

// take has pods leave their nodes, and others stand where they got seats.
func (s *scene) take(chosen *option) {
	for _, seat := range chosen.seats {
		s.reserved[seat.Node] = append(slices.Clip(s.reserved[seat.Node]), seat.Pod)
	}
	s.left = append(slices.Clip(s.left), chosen.moving...)
	s.leaving = append(slices.Clip(s.leaving), chosen.plan.Leaving...)
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
func (s *scene) decide(
	ctx context.Context, hit *breach, moved []*group,
) (*decision.Answer, turns.Turn, []*corev1.Pod, error) {
	turn, moving := hit.without(moved)
	answer, err := s.answer(ctx, turn, moving)
	return answer, turn, moving, err
}

// answer answers for a gang of which pods have left their nodes.
func (s *scene) answer(
	ctx context.Context, turn turns.Turn, moving []*corev1.Pod,
) (answer *decision.Answer, err error) {
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

// cheapest returns the move of a gang that costs least; nil if nothing helps.
func (s *scene) cheapest(ctx context.Context, hit *breach) (*option, error) {
	whole, err := s.option(ctx, hit, []*group{hit.root()})
	if err != nil || whole == nil {
		return nil, err
	}
	stays := false
	for _, moved := range hit.choices() {
		if hit.costOf(moved).Pods == 0 && stays {
			continue // Groups that have lost all of their pods: the question is the same whichever they are.
		}
		stays = stays || hit.costOf(moved).Pods == 0
		if found, err := s.option(ctx, hit, moved); err != nil || found != nil {
			return found, err
		}
	}
	return whole, nil
}

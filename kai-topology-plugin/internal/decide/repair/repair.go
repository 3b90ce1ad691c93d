// Package repair decides how gangs that have lost pods become whole again: where they stand, by moving a subgroup, or
// by moving the gang. Every answer is a decision of the scheduler's own code on a copy of the cluster.
package repair

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/repairpolicy"
)

// Asked is a gang that has lost pods which it needs, and what may be done about that.
type Asked struct {
	Gang   gang.Key
	Policy repairpolicy.Policy
	// Held are the seats that are held for a move which was decided before.
	Held []gangstate.Placement
}

// Plan is what is to be done about a gang.
type Plan struct {
	// Reason is that of scheduling.ConditionRepairPlanned: ReasonMoveAhead if the pods that leave may be moved. It is
	// empty if no pod has to move: the pods that were lost have a place where the others stand.
	Reason string
	// Relocations are the least that has to move. If the Reason forbids that, it is the least that would.
	Relocations []Relocation
	// Obstacle names what forbids it: the value of AnnotationRepairMove that would not, a PodDisruptionBudget, or a
	// pod.
	Obstacle string
	// Leaving are the pods to evict, including pods of moved groups on nodes that are about to stop them. Seats are the
	// nodes for them and for the lost pods. Both are empty unless the pods may be moved.
	Leaving []*corev1.Pod
	Seats   []gangstate.Placement
	// Confirmed is set if the seats are the held ones.
	Confirmed bool
}

// Relocation is a group with pods that move elsewhere.
type Relocation struct {
	// SubGroup is empty for the whole gang.
	SubGroup string `json:"subGroup"`
	// Pods counts the pods that would otherwise stay.
	Pods int `json:"pods"`
	// Level is the level that the group requires, From and To the domains where it stands and where it goes. Empty for
	// a group that requires none.
	Level string `json:"level,omitempty"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// Plans decides about gangs one after the other, so that no two get the same room. A gang that cannot be planned has no
// plan. The table has the cluster as it is, and the room that the scheduler keeps.
func Plans(ctx context.Context, table *turns.Table, rules Rules, asked []Asked) (map[gang.Key]Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPlanner(table, &rules)

	// 1. The gangs that have lost pods, in order of rank. Pods on nodes that are about to stop them are lost.
	hurt := p.hurt(asked)
	err := p.run(ctx, table, turns.Change{Gone: p.gone}, hurt,
		// 2. A gang for which seats are held gives them up if its lost pods have a place beside the others by now.
		p.giveUp,
		// 3. Its seats are confirmed as long as they are good.
		p.confirm,
		// 4. Each other gang is decided on what the earlier ones left.
		p.decide,
	)
	return p.plans, err
}

// decide plans a gang for which no seats are good.
func (p *planner) decide(ctx context.Context, hit *breach) error {
	// 1. In place: the lost pods fit where the others stand.
	if err := p.stay(ctx, hit); err != nil {
		return err
	}
	if _, stays := p.plans[hit.Gang]; stays {
		return nil
	}
	p.plans[hit.Gang] = Plan{Reason: scheduling.ReasonNoPlace}

	// 2. Nothing smaller helps where the whole gang has no place.
	root := []*group{hit.root()}
	turn, moving := hit.without(root)
	whole, err := p.option(ctx, hit, turn, root, moving)
	if err != nil || whole == nil {
		return err
	}

	// 3. The smallest subgroups that lost pods, and at last the whole gang: the first that fits and may move.
	for _, moved := range hit.choices() {
		turn, moving := hit.without(moved)
		found, err := p.option(ctx, hit, turn, moved, moving)
		if err != nil {
			return err
		}
		if found == nil {
			continue
		}
		if found.plan.Reason == scheduling.ReasonMoveAhead {
			p.take(hit, found)
			return nil
		}
		if p.plans[hit.Gang].Reason == scheduling.ReasonNoPlace {
			p.plans[hit.Gang] = found.plan // The least that would help.
		}
		if !hit.Policy.Allows(scheduling.RepairMoveSubGroup) {
			return nil // Every other move is forbidden too.
		}
	}
	return nil
}

// stay plans that no pod of a gang moves, if its lost pods have a place beside the others.
func (p *planner) stay(ctx context.Context, hit *breach) error {
	turn, _ := hit.without(nil)
	stays, err := p.option(ctx, hit, turn, nil, nil)
	if err == nil && stays != nil {
		p.take(hit, stays)
	}
	return err
}

// propose has an option say what moves, unless that is forbidden: then why.
func (p *planner) propose(hit *breach, chosen *option) {
	moved := slices.DeleteFunc(slices.Clone(chosen.moved), func(one *group) bool { return len(one.pods) == 0 })
	plan := &chosen.plan
	plan.Relocations = p.relocations(hit, moved, chosen.seats)
	leaving := slices.Concat(chosen.moving, hit.fallen(moved))
	if plan.Reason, plan.Obstacle = p.forbids(hit, moved, leaving, chosen.seats); plan.Reason == "" {
		plan.Reason, plan.Leaving, plan.Seats = scheduling.ReasonMoveAhead, leaving, chosen.seats
	}
}

// take plans what was chosen: its pods leave their nodes, and stand where they got seats.
func (p *planner) take(hit *breach, chosen *option) {
	p.plans[hit.Gang] = chosen.plan
	for _, seat := range chosen.seats {
		p.reserved[seat.Node] = append(slices.Clip(p.reserved[seat.Node]), seat.Pod)
	}
	p.left = append(slices.Clip(p.left), chosen.moving...)
	p.leaving = append(slices.Clip(p.leaving), chosen.plan.Leaving...)
}

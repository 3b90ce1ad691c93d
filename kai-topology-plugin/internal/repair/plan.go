package repair

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/preemption"
	"packtree.dev/kai-topology-plugin/internal/turns"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/repairpolicy"
)

// Asked is a gang that has lost pods which it needs, and what may be done about that.
type Asked struct {
	Gang   gang.Key
	Policy repairpolicy.Policy
	// Held are the seats that are held for a move which was decided before.
	Held []Seat
}

// Seat is a pod and the node that is to have it.
type Seat struct {
	Pod  *corev1.Pod
	Node string
}

// Plan is what is to be done about a gang.
type Plan struct {
	// Reason is that of scheduling.ConditionRepairPlanned: ReasonMoveAhead if the pods that leave may be moved. It is
	// empty if nobody has to move: the pods that were lost have a place where the others stand.
	Reason string
	// Relocations are the least that has to move. If the Reason forbids that, it is the least that would.
	Relocations []Relocation
	// Obstacle names what forbids it: the value of AnnotationRepairMove that would not, a PodDisruptionBudget, or a
	// pod.
	Obstacle string
	// Leaving are the pods that have to be evicted, those of the groups among them whose nodes are about to stop them,
	// and Seats where they and those that were lost then have room. Empty unless they may be moved.
	Leaving []*corev1.Pod
	Seats   []Seat
	// Confirmed is set if the seats are those that were held.
	Confirmed bool
}

// Relocation is a group whose pods go elsewhere.
type Relocation struct {
	// SubGroup is empty for the whole gang.
	SubGroup string
	// Pods counts those that would otherwise stay where they are.
	Pods int
	// Level is the level that the group requires, From and To the domains where it stands and where it goes. Empty for
	// a group that requires none.
	Level, From, To string
}

// Rules are what the scheduler and others demand of every move.
type Rules struct {
	// Kept returns the room that the scheduler keeps from a gang of some priority.
	Kept func(asking gang.Key, priority int32) clusterview.Reserved
	// Closed reports whether a node is closed to a gang for the sake of another; nil if none is.
	Closed func(rank gang.Rank, node *corev1.Node) bool
	// Tied names a claim of a pod that may be of no use on another node; empty if there is none. Nil if no pod has any.
	Tied func(pod *corev1.Pod) string
	// Budgets are those that evictions draw on.
	Budgets preemption.Budgets
}

// Plans decides about gangs together, so that no two get the same room: first those for which seats are held,
// then those that need no move, then the others in the order of the scheduler, each with the move that costs least. A
// gang that cannot be planned has no plan. The table has the cluster as it is.
func Plans(ctx context.Context, table *turns.Table, rules Rules, asked []Asked) (map[gang.Key]Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cluster := table.Inventory()
	if rules.Kept != nil {
		table = table.Respecting(rules.Kept)
	}
	p := &planner{rules: rules, scene: sceneOf(cluster), broken: map[*breach]*broken{}, plans: map[gang.Key]Plan{}}
	hurt := p.hurt(asked)
	err := table.Under(turns.Change{Gone: p.scene.gone}, func(table *turns.Table) error {
		p.scene.table = table
		for _, step := range []func(context.Context, *broken) error{p.giveUp, p.confirm} {
			for _, next := range hurt {
				if err := step(ctx, next); err != nil {
					return err
				}
			}
		}
		var others []*breach
		for _, next := range hurt {
			if _, planned := p.plans[next.Gang]; !planned {
				others = append(others, next.breach)
			}
		}
		mended, err := p.scene.mend(ctx, others, p.cheapest)
		for hit, how := range mended {
			p.plans[p.broken[hit].Gang] = how.plan
		}
		return err
	})
	return p.plans, err
}

// planner makes plans on a scene, one after the other.
type planner struct {
	rules  Rules
	scene  scene
	broken map[*breach]*broken
	plans  map[gang.Key]Plan
}

// broken is a gang that has lost pods.
type broken struct {
	Asked
	*breach
}

// hurt returns the gangs that are asked about, in the order of the scheduler, and has those of their pods leave the
// scene that stand on nodes which are gone or are about to stop them.
func (p *planner) hurt(asked []Asked) (all []*broken) {
	byGang := map[gang.Key]Asked{}
	for _, one := range asked {
		byGang[one.Gang] = one
	}
	for _, turn := range turns.In(p.scene.cluster) {
		one, found := byGang[turn.Rank.Gang]
		if !found || turn.Hold != nil || turn.Gang.Tree == nil || len(turn.Gang.Standing) == 0 {
			continue
		}
		b := &breach{turn: turn}
		for _, pod := range turn.Gang.Standing {
			node := p.scene.nodes[pod.Spec.NodeName]
			if node != nil && !stops(node, pod) {
				b.kept = append(b.kept, pod)
				continue
			}
			b.lost = append(b.lost, pod)
			if node != nil {
				p.scene.gone = append(p.scene.gone, pod)
			}
		}
		if b.lost = append(b.lost, turn.Gang.Pending...); len(b.lost) > 0 {
			b.climb()
			b.after = one.Policy.After
			p.broken[b] = &broken{Asked: one, breach: b}
			all = append(all, p.broken[b])
		}
	}
	return all
}

// stops reports whether a node is about to have a pod deleted: it has a taint that evicts, and the pod tolerates that
// for some time only, if at all.
func stops(node *corev1.Node, pod *corev1.Pod) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		if taint.Effect != corev1.TaintEffectNoExecute {
			return false
		}
		first := slices.IndexFunc(pod.Spec.Tolerations, func(toleration corev1.Toleration) bool {
			return toleration.ToleratesTaint(klog.Background(), &taint, true)
		})
		return first < 0 || pod.Spec.Tolerations[first].TolerationSeconds != nil
	})
}

// giveUp plans that nobody of a gang moves for which seats are held, if that is not needed any more. What others are
// about to leave does not count: it may be for a gang that would have to move otherwise.
func (p *planner) giveUp(ctx context.Context, hit *broken) error {
	if len(hit.Held) == 0 {
		return nil
	}
	stays, err := p.scene.stay(ctx, hit.breach)
	if err == nil && stays != nil {
		p.take(hit, stays)
	}
	return err
}

// confirm plans again what a gang has seats for, if they are still good.
func (p *planner) confirm(ctx context.Context, hit *broken) error {
	if _, planned := p.plans[hit.Gang]; planned || len(hit.Held) == 0 {
		return nil
	}
	for _, moved := range hit.choices() {
		turn, moving := hit.without(moved)
		pinned, complete := pin(turn.Gang.Pending, hit.Held)
		if !complete {
			continue
		}
		turn.Gang.Pending = pinned
		answer, err := p.scene.answer(ctx, turn, moving)
		if err != nil {
			return err
		}
		seats := seatsOf(turn, answer)
		if turns.Placed(answer) && len(seats) == len(hit.Held) && p.fits(hit, seats, moving) {
			again := p.proposal(hit, &option{moved: moved, moving: moving, seats: seats})
			again.plan.Confirmed = true
			p.take(hit, again)
		}
		return nil // If they are not good any more, it is planned anew.
	}
	return nil
}

// cheapest returns the move of a gang that costs least, of those that may be made; nil if there is none. The plan of
// the gang is then the least that would help, and what forbids it, unless it is mended otherwise.
func (p *planner) cheapest(ctx context.Context, breach *breach) (*option, error) {
	hit := p.broken[breach]
	p.plans[hit.Gang] = Plan{Reason: scheduling.ReasonNoPlace}
	whole, err := p.option(ctx, hit, []*group{hit.root()})
	if err != nil || whole == nil {
		return nil, err
	}
	for _, moved := range hit.choices() {
		if hit.costOf(moved).Pods == 0 {
			continue
		}
		found, err := p.option(ctx, hit, moved)
		if err != nil {
			return nil, err
		}
		if found == nil || len(found.moving) == 0 {
			continue
		}
		if p.proposal(hit, found).plan.Reason == scheduling.ReasonMoveAhead {
			return found, nil
		}
		if p.plans[hit.Gang].Reason == scheduling.ReasonNoPlace {
			p.plans[hit.Gang] = found.plan
		}
		if !hit.Policy.Allows(scheduling.RepairMoveSubGroup) {
			break
		}
	}
	return nil, nil
}

// option decides a gang whose pods in some of its groups move; nil if it does not fit.
func (p *planner) option(ctx context.Context, hit *broken, moved []*group) (*option, error) {
	found, err := p.scene.option(ctx, hit.breach, moved)
	if err != nil || found == nil || !p.fits(hit, found.seats, found.moving) {
		return nil, err
	}
	return found, nil
}

// proposal has an option say what moves, unless that is forbidden: then why.
func (p *planner) proposal(hit *broken, chosen *option) *option {
	moved := slices.DeleteFunc(slices.Clone(chosen.moved), func(one *group) bool { return len(one.pods) == 0 })
	plan := &chosen.plan
	plan.Relocations = p.relocations(hit, moved, chosen.seats)
	leaving := slices.Concat(chosen.moving, hit.fallen(moved))
	if plan.Reason, plan.Obstacle = p.forbids(hit, moved, leaving, chosen.seats); plan.Reason == "" {
		plan.Reason, plan.Leaving, plan.Seats = scheduling.ReasonMoveAhead, leaving, chosen.seats
	}
	return chosen
}

// take plans what was chosen and, unless it is forbidden, makes the scene what it will be.
func (p *planner) take(hit *broken, chosen *option) {
	p.plans[hit.Gang] = chosen.plan
	if reason := chosen.plan.Reason; reason == "" || reason == scheduling.ReasonMoveAhead {
		p.scene.take(chosen)
	}
}

// fallen returns the pods of groups that still stand, on nodes which are gone or are about to stop them.
func (b *breach) fallen(groups []*group) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(b.lost), func(pod *corev1.Pod) bool {
		moves := func(one *group) bool { return b.in(one.Group, pod) }
		return !gang.Standing(pod) || !slices.ContainsFunc(groups, moves)
	})
}

// forbids returns why pods must not be evicted; empty if they may.
func (p *planner) forbids(hit *broken, moved []*group, leaving []*corev1.Pod, seats []Seat) (reason, obstacle string) {
	if needed := hit.needs(moved); !hit.Policy.Allows(needed) {
		return scheduling.ReasonMoveNotAllowed, needed
	}
	for _, pod := range leaving {
		if metav1.GetControllerOf(pod) == nil {
			return scheduling.ReasonMoveUnowned, pod.Name
		}
	}
	for _, seat := range seats {
		if p.rules.Tied == nil {
			break
		}
		if claim := p.rules.Tied(seat.Pod); claim != "" {
			return scheduling.ReasonMoveTied, claim + " of pod " + seat.Pod.Name
		}
	}
	if budget := p.rules.Budgets.Forbidding(slices.Concat(p.scene.leaving, leaving)); budget != "" {
		return scheduling.ReasonMoveBudget, budget
	}
	return "", ""
}

// needs returns the value of AnnotationRepairMove that allows groups to move.
func (b *breach) needs(moved []*group) string {
	for _, one := range moved {
		innermost := func(ladder []*group) bool { return ladder[0] == one }
		if one.Parent == nil || !slices.ContainsFunc(b.ladders, innermost) {
			return scheduling.RepairMoveGang
		}
	}
	return scheduling.RepairMoveSubGroup
}

// fits reports whether there are seats for as many pods of each leaf as would leave theirs, on nodes that are open to
// the gang.
func (p *planner) fits(hit *broken, seats []Seat, moving []*corev1.Pod) bool {
	spare := map[string]int{}
	for _, seat := range seats {
		node := p.scene.nodes[seat.Node]
		if node == nil || stops(node, seat.Pod) || p.rules.Closed != nil && p.rules.Closed(hit.turn.Rank, node) {
			return false
		}
		spare[gang.LeafOf(seat.Pod)]++
	}
	for _, pod := range moving {
		if spare[gang.LeafOf(pod)]--; spare[gang.LeafOf(pod)] < 0 {
			return false
		}
	}
	return true
}

// relocations says from where to where groups go.
func (p *planner) relocations(hit *broken, moved []*group, seats []Seat) (all []Relocation) {
	for _, group := range moved {
		one := Relocation{SubGroup: group.Name, Pods: len(group.pods), Level: group.Constraint.RequiredTopologyLevel}
		if one.Level != "" {
			from, to := sets.New[string](), sets.New[string]()
			for _, pod := range group.pods {
				from.Insert(pod.Spec.NodeName)
			}
			for _, seat := range seats {
				if hit.in(group.Group, seat.Pod) {
					to.Insert(seat.Node)
				}
			}
			one.From, one.To = p.scene.domainOf(group, from), p.scene.domainOf(group, to)
		}
		all = append(all, one)
	}
	return all
}

// pin returns the pods that have a seat, each of which can go nowhere else, and whether every seat has a pod.
func pin(pods []*corev1.Pod, held []Seat) (pinned []*corev1.Pod, complete bool) {
	left := slices.Clone(held)
	for _, pod := range pods {
		at := slices.IndexFunc(left, func(seat Seat) bool { return gang.LeafOf(seat.Pod) == gang.LeafOf(pod) })
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

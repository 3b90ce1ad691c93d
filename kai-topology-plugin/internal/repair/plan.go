package repair

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
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

// Plans decides about gangs together, so that no two are told of the same room: first those for which seats are held,
// then those that need no move, then the others in the order of the scheduler, each with as few moved pods as possible.
// A gang that cannot be planned has no plan. The table has the cluster as it is.
func Plans(ctx context.Context, table *turns.Table, rules Rules, asked []Asked) (map[gang.Key]Plan, error) {
	cluster := table.Inventory()
	if rules.Kept != nil {
		table = table.Respecting(rules.Kept)
	}
	p := &planner{
		cluster: cluster, rules: rules, scene: scene{reserved: clusterview.Reserved{}},
		nodes: map[string]*corev1.Node{}, plans: map[gang.Key]Plan{},
	}
	for _, node := range cluster.Nodes {
		p.nodes[node.Name] = node
	}
	hurt := p.hurt(asked)
	err := table.Under(turns.Change{Gone: p.scene.gone}, func(table *turns.Table) error {
		p.scene.table = table
		for _, step := range []func(context.Context, *broken) error{p.confirm, p.leave, p.move} {
			for _, next := range hurt {
				if _, planned := p.plans[next.Gang]; planned {
					continue
				}
				if err := step(ctx, next); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return p.plans, err
}

// planner makes plans on a scene, one after the other.
type planner struct {
	cluster *inventory.Inventory
	rules   Rules
	scene   scene
	nodes   map[string]*corev1.Node
	plans   map[gang.Key]Plan
	// leaving are the pods that the plans so far have evicted.
	leaving []*corev1.Pod
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
	for _, turn := range turns.In(p.cluster) {
		one, found := byGang[turn.Rank.Gang]
		if !found || turn.Hold != nil || turn.Gang.Tree == nil || len(turn.Gang.Standing) == 0 {
			continue
		}
		b := &breach{turn: turn}
		for _, pod := range turn.Gang.Standing {
			node := p.nodes[pod.Spec.NodeName]
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
			all = append(all, &broken{Asked: one, breach: b})
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

// confirm plans a gang for which seats are held: that nobody moves if that is not needed any more, or again what it has
// seats for, if they are still good.
func (p *planner) confirm(ctx context.Context, hit *broken) error {
	if len(hit.Held) == 0 {
		return nil
	}
	if err := p.leave(ctx, hit); err != nil {
		return err
	}
	if _, planned := p.plans[hit.Gang]; planned {
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
		if len(seats) == len(hit.Held) && p.fits(hit, answer, seats, moving) {
			plan := p.proposal(hit, moved, seats, moving)
			plan.Confirmed = true
			p.take(hit, plan, moving)
		}
		return nil // If they are not good any more, it is planned anew.
	}
	return nil
}

// leave plans gangs that need nobody to move.
func (p *planner) leave(ctx context.Context, hit *broken) error {
	mended, err := p.scene.try(ctx, hit.breach, nil)
	if mended {
		p.plans[hit.Gang] = Plan{}
	}
	return err
}

// move finds the least that has to move for a gang to have what it needs, and may.
func (p *planner) move(ctx context.Context, hit *broken) error {
	forbidden := Plan{Reason: scheduling.ReasonNoPlace}
	answer, turn, moving, err := p.scene.decide(ctx, hit.breach, []*group{hit.root()})
	if err != nil {
		return err
	}
	if !p.fits(hit, answer, seatsOf(turn, answer), moving) {
		p.take(hit, forbidden, nil)
		return nil
	}
	for _, moved := range hit.choices() {
		if podsIn(moved) == 0 {
			continue
		}
		answer, turn, moving, err := p.scene.decide(ctx, hit.breach, moved)
		if err != nil {
			return err
		}
		seats := seatsOf(turn, answer)
		if !p.fits(hit, answer, seats, moving) {
			continue
		}
		plan := p.proposal(hit, moved, seats, moving)
		if plan.Reason == scheduling.ReasonMoveAhead {
			p.take(hit, plan, moving)
			return nil
		}
		if forbidden.Reason == scheduling.ReasonNoPlace {
			forbidden = plan
		}
		if !hit.Policy.Allows(scheduling.RepairMoveSubGroup) {
			break
		}
	}
	p.take(hit, forbidden, nil)
	return nil
}

// proposal says what moves, unless that is forbidden: then why.
func (p *planner) proposal(hit *broken, moved []*group, seats []Seat, moving []*corev1.Pod) Plan {
	moved = slices.DeleteFunc(slices.Clone(moved), func(one *group) bool { return len(one.pods) == 0 })
	plan := Plan{Relocations: p.relocations(hit, moved, seats)}
	leaving := slices.Concat(moving, hit.fallen(moved))
	if plan.Reason, plan.Obstacle = p.forbids(hit, moved, leaving, seats); plan.Reason == "" {
		plan.Reason, plan.Leaving, plan.Seats = scheduling.ReasonMoveAhead, leaving, seats
	}
	return plan
}

// fallen returns the pods of groups that still stand, on nodes which are gone or are about to stop them.
func (b *breach) fallen(groups []*group) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(b.lost), func(pod *corev1.Pod) bool {
		moves := func(one *group) bool { return b.in(one.Group, pod) }
		return !gang.Standing(pod) || !slices.ContainsFunc(groups, moves)
	})
}

// take makes a plan that of its gang, and the scene what it will be.
func (p *planner) take(hit *broken, plan Plan, moving []*corev1.Pod) {
	p.plans[hit.Gang] = plan
	p.scene.keep(plan.Seats, moving)
	p.leaving = append(p.leaving, plan.Leaving...)
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
	if budget := p.rules.Budgets.Forbidding(slices.Concat(p.leaving, leaving)); budget != "" {
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

// fits reports whether an answer has a node for all that the gang needs, and seats for as many pods of each leaf as
// would leave theirs, on nodes that are open to the gang.
func (p *planner) fits(hit *broken, answer *decision.Answer, seats []Seat, moving []*corev1.Pod) bool {
	if !turns.Placed(answer) {
		return false
	}
	spare := map[string]int{}
	for _, seat := range seats {
		node := p.nodes[seat.Node]
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
			one.From, one.To = p.domainOf(group, from), p.domainOf(group, to)
		}
		all = append(all, one)
	}
	return all
}

// domainOf returns the domain in which nodes are, of the level that a group requires.
func (p *planner) domainOf(of *group, nodes sets.Set[string]) string {
	keys := p.cluster.LevelKeys(of.Constraint.Topology)
	depth := slices.Index(keys, of.Constraint.RequiredTopologyLevel)
	for _, name := range sets.List(nodes) {
		if path := along(p.nodes[name].Labels, keys); depth >= 0 && depth < len(path) {
			return path[:depth+1].String()
		}
	}
	return ""
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

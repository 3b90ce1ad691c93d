package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/repair"
	"packtree.dev/kai-topology-plugin/internal/staleness"
	"packtree.dev/kai-topology-plugin/internal/turns"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/repairpolicy"
)

const (
	// repairApart is the least time between two looks at gangs that have lost pods, so that what is lost together is
	// decided together, and confirmApart that between one which has room held and the next, which confirms it. repairSoon
	// is how long it takes at most until gangs are looked at again that have no answer yet, or move.
	repairApart  = time.Second / 2
	confirmApart = time.Second / 10
	repairSoon   = 5 * time.Second
	// budgetRest is for how long a move is not tried again that a budget forbade at the last moment.
	budgetRest = time.Minute
	// adviceRest is how long what would help a gang that must not be moved is not looked for again.
	adviceRest = time.Minute
)

// repairs has gangs that have lost pods moved to where there is room for all that they need.
//
// A move has two steps, and between them what was decided is written: first room is held for all pods that come to
// stand elsewhere. Once the status of the PodGroup says so, it is proved again that all of them have a place there, and
// those that still stand are evicted. Whoever schedules next finds the seats in the status, and the gang below its
// minimum for as long as before: it plans the same again and goes on, or finds that there is no need or no place any
// more, and gives the seats up.
type repairs struct {
	// unset is the policy of gangs that do not say what may be moved.
	unset repairpolicy.Policy
	wake  chan struct{}
	// any is set if the last look found a gang that has lost pods.
	any atomic.Bool
	// moves are those for which this process holds seats, and rests until when gangs are left alone. They belong to the
	// one goroutine that repairs.
	moves map[gang.Key]*move
	rests map[gang.Key]respite
}

// respite is until when a gang is left alone, unless its policy changes.
type respite struct {
	until time.Time
	of    repairpolicy.Policy
}

// move is what is moved of a gang.
type move struct {
	what string
	// leaving are the pods that are to be evicted, and seats how many are held.
	leaving []*corev1.Pod
	seats   int
	// begun is set once pods are evicted, made once all are, and evicted counts them.
	begun, made bool
	evicted     int
}

func newRepairs() *repairs {
	return &repairs{
		unset: repairpolicy.Policy{After: repairpolicy.DefaultAfter},
		wake:  make(chan struct{}, 1), moves: map[gang.Key]*move{}, rests: map[gang.Key]respite{},
	}
}

// evicts reports whether pods of a gang are being evicted.
func (r *repairs) evicts(key gang.Key) bool {
	under := r.moves[key]
	return under != nil && under.begun && !under.made
}

// held reports whether room is held for a move of a gang, of which no pod has been evicted.
func (r *repairs) held(key gang.Key) bool {
	under := r.moves[key]
	return under != nil && !under.begun
}

// changed has gangs looked at again.
func (r *repairs) changed() {
	select {
	case r.wake <- struct{}{}:
	default: // It is awake.
	}
}

// clusterChanged records that other answers may be right than before, about successors and about repairs.
func (p *Plugin) clusterChanged() {
	p.questions.clusterChanged()
	if p.repairs.any.Load() {
		p.repairs.changed()
	}
}

// concerned reports whether a PodGroup may have to be looked at.
func concerned(podGroup *scheduling.PodGroup) bool {
	return belowMinimum(podGroup) != nil ||
		meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairPlanned) != nil
}

// belowMinimum returns the condition by which a gang has lost pods that it needs; nil if it has not.
func belowMinimum(podGroup *scheduling.PodGroup) *metav1.Condition {
	condition := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled)
	if condition == nil || condition.Status == metav1.ConditionTrue ||
		condition.Reason != scheduling.ReasonBelowMinimum {
		return nil
	}
	return condition
}

// repair moves what has to be moved until ctx is done, beside the scheduling loop.
func (p *Plugin) repair(ctx context.Context) {
	for ctx.Err() == nil {
		began := p.clock.Now()
		again, err := p.repairOnce(ctx)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Repairing gangs that have lost pods")
			again = repairSoon
		}
		rest := repairApart
		if again > 0 {
			rest = min(rest, again)
		}
		sleep(ctx, max(rest, p.clock.Now().Sub(began)*(reviewShare-1)))
		var timer <-chan time.Time
		if again > 0 {
			timer = time.After(again - rest)
		}
		select {
		case <-ctx.Done():
		case <-p.repairs.wake:
		case <-timer:
		}
	}
}

// round is one look at all gangs.
type round struct {
	now time.Time
	// asked are the gangs for which a plan is to be made, and due when what it says may be done.
	asked []repair.Asked
	due   map[gang.Key]time.Time
	// policies are those of the gangs that were looked at.
	policies map[gang.Key]repairpolicy.Policy
	// held are the gangs among them for which seats are held.
	held sets.Set[gang.Key]
	// evict are the gangs of which pods are to be evicted now.
	evict []gang.Key
	// said is what is told of each gang.
	said map[gang.Key]gangstate.Repair
	// again is when to look again, from now; 0 if that need not be.
	again time.Duration
}

// ask has a plan made for a gang that has been below its minimum since some time.
func (r *round) ask(key gang.Key, policy repairpolicy.Policy, seats []gangstate.Placement, since time.Time) {
	asked := repair.Asked{Gang: key, Policy: policy}
	for _, seat := range seats {
		asked.Held = append(asked.Held, repair.Seat{Pod: seat.Pod, Node: seat.Node})
		r.held.Insert(key)
	}
	r.asked, r.due[key] = append(r.asked, asked), since.Add(policy.After)
}

// soon has all gangs looked at again after some time at the latest.
func (r *round) soon(after time.Duration) {
	if r.again == 0 || after < r.again {
		r.again = max(after, time.Millisecond)
	}
}

// repairOnce looks at all gangs that have lost pods, and does what is next. It returns when to look again.
func (p *Plugin) repairOnce(ctx context.Context) (again time.Duration, err error) {
	r := &round{
		now: p.clock.Now(), due: map[gang.Key]time.Time{}, policies: map[gang.Key]repairpolicy.Policy{},
		held: sets.New[gang.Key](), said: map[gang.Key]gangstate.Repair{},
	}
	podGroups, err := p.lister.PodGroups.List(labels.Everything())
	if err != nil {
		return 0, fmt.Errorf("reading PodGroups: %w", err)
	}
	for _, podGroup := range podGroups {
		p.look(r, podGroup)
	}
	if len(r.asked) > 0 {
		plans, err := p.repairPlans(ctx, r)
		if err != nil {
			return 0, fmt.Errorf("deciding on a copy of the cluster: %w", err)
		}
		for _, asked := range r.asked {
			plan, planned := plans[asked.Gang]
			if !planned {
				r.soon(repairSoon) // Pods of it are yet to be made.
				continue
			}
			p.follow(r, asked.Gang, plan)
		}
	}
	p.repairs.any.Store(len(r.said) > 0)
	for _, key := range p.gangs.RepairsPlanned(r.said).WriteStatus {
		p.effects.status.Enqueue(key)
	}
	for _, key := range r.evict {
		p.evictMoved(ctx, r, key)
	}
	return r.again, nil
}

// look decides what is to be done about one gang: whether its move goes on, or a plan is to be made.
func (p *Plugin) look(r *round, podGroup *scheduling.PodGroup) {
	key := gang.KeyOfPodGroup(podGroup)
	seats, until := p.gangs.MoveSeats(key)
	lost := belowMinimum(podGroup)
	p.forget(key, len(seats) == 0, lost == nil)
	if lost == nil && len(seats) == 0 || podGroup.DeletionTimestamp != nil || !p.speaksFor(key) {
		return
	}
	policy, errs := repairpolicy.Parse(podGroup.Annotations, p.repairs.unset)
	r.policies[key] = policy
	r.said[key] = p.saidOf(podGroup)
	if hold := gangstate.MoveHold(podGroup); until.Sub(r.now) < hold/2 && p.leaves(key) {
		p.effects.do(p.gangs.ExtendMove(key, r.now.Add(hold))) // It does nothing where no seats are held.
	}
	switch {
	case lost == nil && p.repairs.held(key):
		p.abandon(r, key, "its pods have a place where the others stand") // Others have moved.
	case p.repairs.evicts(key):
		p.goOn(r, key, len(seats))
	case len(errs) > 0 || isStopped(podGroup, r.now):
		p.abandon(r, key, "it may not be moved any more")
	case p.rests(key, policy, r.now):
		r.soon(adviceRest)
	case lost == nil || !refused(p.gangs.Last(key)):
		r.soon(repairSoon) // It moves already, or there is no answer yet that it has no place where it stands.
	default:
		r.ask(key, policy, seats, lost.LastTransitionTime.Time)
	}
}

// forget is for a gang for which no room is held any more, or which has what it needs.
func (p *Plugin) forget(key gang.Key, roomless, whole bool) {
	if roomless {
		if p.repairs.evicts(key) {
			p.giveUp(key, "the room that was held for it is gone")
		}
		delete(p.repairs.moves, key)
	}
	if whole {
		delete(p.repairs.rests, key)
	}
}

// goOn has the rest of the pods of a gang evicted of which some are, if all seats are still held.
func (p *Plugin) goOn(r *round, key gang.Key, seats int) {
	r.soon(repairSoon)
	if seats == p.repairs.moves[key].seats {
		r.evict = append(r.evict, key)
		return
	}
	// It is planned anew once it is known that it has no place where it stands.
	p.abandon(r, key, "some of the room that was held for it is gone")
}

// isStopped reports whether a gang is stopped for good where it stands.
func isStopped(podGroup *scheduling.PodGroup, now time.Time) bool {
	deadline, stops := staleness.Deadline(podGroup)
	return stops && !deadline.After(now)
}

// refused reports whether the last answer is that a gang has no place where it stands.
func refused(last *decision.Answer) bool {
	return last != nil && (last.Verdict == scheduling.ReasonInfeasible || last.Verdict == scheduling.ReasonUnknown)
}

// saidOf returns what was said of a gang last, by an earlier process if this one has said nothing yet.
func (p *Plugin) saidOf(podGroup *scheduling.PodGroup) gangstate.Repair {
	last, begun := p.gangs.RepairOf(podGroup)
	written := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairPlanned)
	if begun || written == nil || written.Reason == scheduling.ReasonInvalidPolicy {
		return last
	}
	return gangstate.Repair{Reason: written.Reason, Message: written.Message}
}

// rests reports whether a gang is left alone for now.
func (p *Plugin) rests(key gang.Key, policy repairpolicy.Policy, now time.Time) bool {
	resting := p.repairs.rests[key]
	return resting.of == policy && now.Before(resting.until)
}

// leaves reports whether pods of a gang have yet to leave for a move of it.
func (p *Plugin) leaves(key gang.Key) bool {
	under := p.repairs.moves[key]
	return under != nil && len(p.stillStanding(under.leaving)) > 0
}

func (p *Plugin) stillStanding(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		found, err := p.lister.Pods.Pods(pod.Namespace).Get(pod.Name)
		return err != nil || found.UID != pod.UID || !gang.Standing(found)
	})
}

// repairPlans makes plans for the gangs of a round.
func (p *Plugin) repairPlans(ctx context.Context, r *round) (plans map[gang.Key]repair.Plan, err error) {
	cluster, err := p.shownAndAssumed()
	if err != nil {
		return nil, err
	}
	budgets, err := p.budgets()
	if err != nil {
		return nil, err
	}
	elsewhere, err := p.seatsOfOtherMoves()
	if err != nil {
		return nil, err
	}
	rules := repair.Rules{
		Kept: func(asking gang.Key, priority int32) clusterview.Reserved {
			return elsewhere.beside(p.gangs.ReservedBesideMoves(asking, priority, r.held), asking, priority)
		},
		Closed: func(rank gang.Rank, node *corev1.Node) bool {
			keeps := func(kept gangstate.KeptDomain) bool { return kept.Keeps(node.Labels) }
			return slices.ContainsFunc(p.gangs.KeptDomains(rank), keeps)
		},
		Tied:    p.claims.tied,
		Budgets: budgets,
	}
	err = p.profiles.copied.On(ctx, cluster, func(table *turns.Table) error {
		plans, err = repair.Plans(ctx, table, rules, r.asked)
		return err
	})
	return plans, err
}

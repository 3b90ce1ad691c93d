package plugin

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/staleness"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/repairpolicy"
)

const (
	// repairApart is the least time between two looks at gangs that have lost pods, so that what is lost together is
	// decided together, and confirmApart that between one which has room held and the next, which confirms it.
	// repairSoon is how long it takes at most until gangs are looked at again that have no answer yet, or move.
	repairApart  = time.Second / 2
	confirmApart = time.Second / 10
	repairSoon   = 5 * time.Second
	// repairShare is how much of one core the looks may take: a tenth.
	repairShare = 10
	// budgetRest is for how long a move is not tried again that a budget forbade at the last moment.
	budgetRest = time.Minute
	// adviceRest is how long what would help a gang that must not be moved is not looked for again.
	adviceRest = time.Minute
)

// mender moves gangs that have lost pods to where there is room for all that they need.
//
// A move has two steps, and the decision is written between them. First room is held for all pods that will stand
// elsewhere. Once the status of the PodGroup says so, it is proved again that all of them fit there, and the running
// ones are evicted. The next scheduler finds the seats in the status, and the gang below its minimum for as long as
// before: it plans the same again and goes on, or finds that the move is not needed or does not fit any more, and gives
// the seats up.
type mender struct {
	*Plugin
	// unset is the policy of gangs that do not say what may be moved.
	unset repairpolicy.Policy
	wake  chan struct{}
	// took is how long the last look took.
	took time.Duration
	// any is set if the last look found a gang that has lost pods.
	any atomic.Bool
}

func newMender(p *Plugin) *mender {
	return &mender{
		Plugin: p, unset: repairpolicy.Policy{After: repairpolicy.DefaultAfter}, wake: make(chan struct{}, 1),
	}
}

// changed has gangs looked at again.
func (m *mender) changed() {
	select {
	case m.wake <- struct{}{}:
	default: // It is awake.
	}
}

// clusterChanged records that another plan may be right than before.
func (m *mender) clusterChanged() {
	if m.any.Load() {
		m.changed()
	}
}

// concerned reports whether a PodGroup may have to be looked at.
func concerned(podGroup *scheduling.PodGroup) bool {
	return staleness.BelowMinimum(podGroup) != nil ||
		meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairPlanned) != nil
}

// run moves what has to be moved until ctx is done, beside the scheduling loop.
func (m *mender) run(ctx context.Context) {
	for ctx.Err() == nil {
		began := m.clock.Now()
		again, err := m.once(ctx)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Repairing gangs that have lost pods")
			again = repairSoon
		}
		rest := repairApart
		if again > 0 {
			rest = min(rest, again)
		}
		m.took = m.clock.Now().Sub(began)
		sleep(ctx, max(rest, m.took*(repairShare-1)))
		var timer <-chan time.Time
		if again > 0 {
			timer = time.After(again - rest)
		}
		select {
		case <-ctx.Done():
		case <-m.wake:
		case <-timer:
		}
	}
}

func sleep(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// round is one look at all gangs.
type round struct {
	now   time.Time
	began gangstate.Moment
	// asked are the gangs for which a plan is to be made, and due when what it says may be done.
	asked []repair.Asked
	due   map[gang.Key]time.Time
	// policies are those of the gangs that were looked at.
	policies map[gang.Key]repairpolicy.Policy
	// held are the gangs among them for which seats are held.
	held sets.Set[gang.Key]
	// evict are the PodGroups with pods to evict now.
	evict []*scheduling.PodGroup
	// said is what is reported of each gang.
	said map[gang.Key]gangstate.Repair
	// again is when to look again, from now; 0 if that need not be.
	again time.Duration
}

// ask has a plan made for a gang that has been below its minimum since some time.
func (r *round) ask(key gang.Key, policy repairpolicy.Policy, seats []gangstate.Placement, since time.Time) {
	if len(seats) > 0 {
		r.held.Insert(key)
	}
	r.asked = append(r.asked, repair.Asked{Gang: key, Policy: policy, Held: seats})
	r.due[key] = since.Add(policy.After)
}

// soon has all gangs looked at again after some time at the latest.
func (r *round) soon(after time.Duration) {
	if r.again == 0 || after < r.again {
		r.again = max(after, time.Millisecond)
	}
}

// once looks at all gangs that have lost pods, and does what is next. It returns when to look again.
func (m *mender) once(ctx context.Context) (again time.Duration, err error) {
	r := &round{
		now: m.clock.Now(), began: m.gangs.Now(), due: map[gang.Key]time.Time{},
		policies: map[gang.Key]repairpolicy.Policy{}, held: sets.New[gang.Key](),
		said: map[gang.Key]gangstate.Repair{},
	}
	podGroups, err := m.lister.PodGroups.List(labels.Everything())
	if err != nil {
		return 0, fmt.Errorf("reading PodGroups: %w", err)
	}
	for _, podGroup := range podGroups {
		m.look(r, podGroup)
	}
	if len(r.asked) > 0 {
		plans, err := m.plan(ctx, r)
		if err != nil {
			return 0, fmt.Errorf("deciding on a copy of the cluster: %w", err)
		}
		for _, asked := range r.asked {
			plan, planned := plans[asked.Gang]
			if !planned {
				r.soon(repairSoon) // Pods of it are yet to be made.
				continue
			}
			if podGroup, err := m.lister.PodGroup(asked.Gang); err == nil { // It may have been deleted meanwhile.
				m.follow(r, podGroup, plan)
			}
		}
	}
	m.any.Store(len(r.said) > 0)
	for _, key := range m.gangs.RepairsPlanned(r.said).WriteStatus {
		m.effects.status.Enqueue(key)
	}
	for _, podGroup := range r.evict {
		m.evictMoved(ctx, r, podGroup)
	}
	return r.again, nil
}

// look decides what is to be done about one gang: whether its move goes on, or a plan is to be made.
func (m *mender) look(r *round, podGroup *scheduling.PodGroup) {
	key, lost := gang.KeyOfPodGroup(podGroup), staleness.BelowMinimum(podGroup)
	move := m.moveOf(podGroup, lost == nil)
	if lost == nil && len(move.Seats) == 0 || podGroup.DeletionTimestamp != nil || !m.speaksFor(key) {
		return
	}
	policy, errs := repairpolicy.Parse(podGroup.Annotations, m.unset)
	r.policies[key] = policy
	r.said[key] = m.saidOf(podGroup)
	if hold := m.holdFor(r, podGroup); move.Until.Sub(r.now) < hold/2 && len(m.stillStanding(move.Leaving)) > 0 {
		move.Until = r.now.Add(hold)
		m.effects.do(m.gangs.Proceed(key, move))
	}
	switch {
	case lost == nil && move.Step == gangstate.MoveHeld:
		m.abandon(r, podGroup, "the replacement pods fit in the current domain") // Others have moved.
	case move.Step == gangstate.MoveEvicts:
		m.goOn(r, podGroup, move)
	case len(errs) > 0 || staleness.Stops(podGroup, r.now):
		m.abandon(r, podGroup, "it may not be moved any more")
	case move.Rest.Rests(policy, r.now):
		r.soon(adviceRest)
	case lost == nil || !refused(m.gangs.View(key).Last):
		r.soon(repairSoon) // It moves already, or there is no answer yet that it has no place where it stands.
	default:
		r.ask(key, policy, move.Seats, lost.LastTransitionTime.Time)
	}
}

// moveOf returns the move of a gang. It gives up one for which no room is held any more. A gang that is whole need not
// be left alone.
func (m *mender) moveOf(podGroup *scheduling.PodGroup, whole bool) gangstate.Move {
	move := m.gangs.MoveOf(podGroup)
	if len(move.Seats) == 0 && move.Step == gangstate.MoveEvicts {
		m.giveUp(podGroup, move, "the room that was held for it is gone")
		move.Progress = move.Over()
	}
	if whole && move.Rest != (gangstate.Respite{}) {
		move.Progress = move.Rested(gangstate.Respite{})
		m.effects.do(m.gangs.Proceed(gang.KeyOfPodGroup(podGroup), move))
	}
	return move
}

// holdFor is for how long seats of a move are held from now on, so that the next look finds them and can confirm them:
// the longer looks take, the rarer they are.
func (m *mender) holdFor(r *round, podGroup *scheduling.PodGroup) time.Duration {
	return gangstate.MoveHold(podGroup) + 2*repairShare*max(m.took, m.clock.Now().Sub(r.now))
}

// goOn evicts the rest of the pods of a move that has begun, if all seats are still held.
func (m *mender) goOn(r *round, podGroup *scheduling.PodGroup, move gangstate.Move) {
	r.soon(repairSoon)
	if len(move.Seats) == move.Planned {
		r.evict = append(r.evict, podGroup)
		return
	}
	// It is planned anew once it is known that it has no place where it stands.
	m.abandon(r, podGroup, "some of the room that was held for it is gone")
}

// refused reports whether an answer is that no pod of a gang has a place.
func refused(last *solve.Answer) bool {
	return last != nil && len(last.Nodes) == 0 &&
		(last.Verdict == scheduling.ReasonInfeasible || last.Verdict == scheduling.ReasonUnknown || last.Overtaking)
}

// saidOf returns what was said of a gang last, by an earlier process if this one has said nothing yet.
func (m *mender) saidOf(podGroup *scheduling.PodGroup) gangstate.Repair {
	known := m.gangs.Status(podGroup)
	written := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairPlanned)
	if !known.Unplanned || written == nil || written.Reason == scheduling.ReasonInvalidPolicy {
		return known.Repair
	}
	return gangstate.Repair{Reason: written.Reason, Message: written.Message}
}

// plan makes plans for the gangs of a round.
func (m *mender) plan(ctx context.Context, r *round) (plans map[gang.Key]repair.Plan, err error) {
	cluster, err := m.shownAndAssumed()
	if err != nil {
		return nil, err
	}
	budgets, err := budgetsOf(m.pdbs)
	if err != nil {
		return nil, err
	}
	elsewhere, err := m.seatsOfOtherMoves(cluster.PodGroups)
	if err != nil {
		return nil, err
	}
	kept := func(asking gang.Key, priority int32) clusterview.Reserved {
		return m.gangs.Reserved(gang.Rank{Gang: asking, Priority: priority}, r.held).Room
	}
	err = m.profiles.copied.On(ctx, cluster, func(table *turns.Table) error {
		rules := repair.Rules{Tied: m.claims.tied, Budgets: budgets}
		plans, err = repair.Plans(ctx, table.Respecting(kept).Holding(elsewhere), rules, r.asked)
		return err
	})
	return plans, err
}

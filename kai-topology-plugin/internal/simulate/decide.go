package simulate

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/overtaking"
	"packtree.dev/kai-topology-plugin/internal/solve"
	"packtree.dev/kai-topology-plugin/internal/turns"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// schedule decides the gangs that wait, by rank, until nobody has to leave for another any more. Gangs that are below
// their minimum then are stopped.
func (s *simulator) schedule(ctx context.Context) error {
	for again := true; again; {
		again = false
		for _, r := range slices.Clone(s.waiting) {
			preempted, err := s.try(ctx, r)
			if err != nil {
				return fmt.Errorf("gang %s: %w", r.job.Name, err)
			}
			again = again || preempted
		}
		for _, r := range s.suspects {
			if r.running && !s.assemble(r).Satisfied(gang.NoPending) {
				if err := s.stop(r); err != nil {
					return err
				}
				again = true
			}
		}
		s.suspects = nil
	}
	return nil
}

// try decides a gang that waits, and starts it if it fits. It reports whether others had to leave for it.
func (s *simulator) try(ctx context.Context, r *run) (preempted bool, err error) {
	if !r.queued || len(r.pending) == 0 || r.tried == s.gangs.Now().Room {
		return false, nil
	}
	question, err := s.question(r.podGroup)
	if err != nil || question == nil {
		return false, err
	}
	if question.Nodes, err = s.offline.Nodes(); err != nil {
		return false, err
	}
	request := solve.Request{Question: *question}
	answer, err := s.answer(ctx, r, &request)
	if err != nil {
		return false, err
	}
	r.tried = s.gangs.Now().Room
	switch {
	case answer.Verdict != scheduling.ReasonPlaced:
		return s.refuse(ctx, r, request, answer)
	case len(answer.Nodes) == 0:
		return false, nil
	}
	s.gangs.Redeem(r.rank.Gang, nil)
	s.gangs.Keep(r.rank.Gang, r.rank.Priority, answer.Kept, func(gang.Key) time.Time { return time.Time{} })
	return false, s.start(r, answer.Nodes)
}

// refusal is the answer to a gang that does not fit: in which state of the room, and what it is short of.
type refusal struct {
	room  int64
	short []packing.Explanation
}

// refuse records that a gang does not fit, and has it preempt others. The answer to another one of its shape holds for
// it, too: that it does not fit, and that nobody can be preempted.
func (s *simulator) refuse(ctx context.Context, r *run, request solve.Request, answer *decision.Answer) (bool, error) {
	if s.gangs.Waits(r.rank.Gang) {
		s.gangs.Tried(r.rank.Gang, r.tried)
	} else {
		s.gangs.DidNotFit(request.Gang, overtaking.ClaimOf(request.Gang, answer, s.cluster.LevelKeys), s.gangs.Now())
	}
	if shape := s.shapeOf(r); shape != nil {
		if s.refused[shape].room == r.tried {
			return false, nil
		}
		s.refused[shape] = refusal{r.tried, answer.Explanations}
	}
	return s.preempt(ctx, r, request)
}

// shapeOf is the shape of a gang whose refusal holds for all of its shape: it has no pods on nodes, its pods have no
// rules, and who decides refuses it again while room only gets less. Nil for others.
func (s *simulator) shapeOf(r *run) *shape {
	if _, program := s.options.Decider.(*program); program || len(r.standing) > 0 {
		return nil
	}
	return r.job.shape
}

// alike is the shape of a gang that has no pods on nodes; nil for others.
func (s *simulator) alike(podGroup *scheduling.PodGroup) any {
	if r := s.by[gang.KeyOfPodGroup(podGroup)]; r != nil && len(r.standing) == 0 && r.job.shape != nil {
		return r.job.shape
	}
	return nil
}

// answer decides a gang. The request is completed, unless the gang is refused without a search.
func (s *simulator) answer(ctx context.Context, r *run, request *solve.Request) (*decision.Answer, error) {
	shape := s.shapeOf(r)
	if shape != nil {
		if short, refused := s.refusedAlready(r); refused {
			return &decision.Answer{Verdict: scheduling.ReasonInfeasible, Explanations: short}, nil
		}
	}
	closed := s.keeper.ClosedTo(ctx, request.Gang, request.Nodes)
	s.barred = s.barred || closed.Barred
	if shape != nil && closed.Altogether(request.Gang.Pending) {
		return &decision.Answer{Verdict: scheduling.ReasonInfeasible, Explanations: shortOf(closed.On(nil)...)}, nil
	}
	s.complete(request, r, &closed)
	// What a gang is short of is asked when it first does not fit. Where it asks for one thing, that is it.
	request.Terse = s.gangs.Waits(r.rank.Gang) || r.size.asksForOne()
	return s.decide(ctx, r, *request)
}

// complete adds to a request what is kept from the gang, and who follows it.
func (s *simulator) complete(request *solve.Request, r *run, closed *overtaking.Closed) {
	request.Reserved = s.gangs.Reserved(r.rank.Gang, r.rank.Priority)
	if request.Reserved == nil {
		request.Reserved = clusterview.Reserved{} // Nil is that of a request that is not complete.
	}
	for node, pods := range closed.Room(request.Nodes) {
		request.Reserved[node] = append(request.Reserved[node], pods...)
	}
	request.Followers = s.followersOf(request.Gang)
}

// decide has the Decider answer, or takes what it answered before the simulation was interrupted.
func (s *simulator) decide(ctx context.Context, r *run, request solve.Request) (*decision.Answer, error) {
	known, err := s.options.decisions.next()
	if err != nil {
		return nil, err
	}
	if known != nil && !known.Anew {
		return s.recall(r, known, request.Gang.Pending)
	}
	answer, err := s.options.Decider.Decide(ctx, request)
	if err == nil && answer.Verdict != scheduling.ReasonPlaced && !r.misjudged {
		r.misjudged, err = s.misjudges(ctx, request)
	}
	if err == nil {
		err = ctx.Err() // Whoever was interrupted may have said anything.
	}
	if err != nil || known != nil {
		return answer, err
	}
	return answer, s.options.decisions.add(s.decided(r, answer, request.Gang.Pending))
}

// decided is an answer as it is written down.
func (s *simulator) decided(r *run, answer *decision.Answer, pending []*corev1.Pod) *decided {
	switch {
	case len(answer.Kept) > 0:
		return &decided{Anew: true}
	case answer.Verdict == scheduling.ReasonPlaced:
		return &decided{Nodes: s.terrain.places(answer.Nodes, pending)}
	}
	made := &decided{Misjudged: r.misjudged}
	for i := range answer.Explanations {
		for _, short := range answer.Explanations[i].Short {
			made.Short = append(made.Short, short.Resource)
		}
	}
	return made
}

// recall is the answer of which decided was written down.
func (s *simulator) recall(r *run, known *decided, pending []*corev1.Pod) (*decision.Answer, error) {
	if known.Nodes == nil {
		r.misjudged = known.Misjudged
		return &decision.Answer{Verdict: scheduling.ReasonInfeasible, Explanations: shortOf(known.Short...)}, nil
	}
	nodes, err := s.terrain.named(known.Nodes, pending)
	return &decision.Answer{Verdict: scheduling.ReasonPlaced, Nodes: nodes}, err
}

// misjudges reports whether a gang fits that another decider than the scheduler has refused.
func (s *simulator) misjudges(ctx context.Context, request solve.Request) (bool, error) {
	if _, own := s.options.Decider.(ours); own {
		return false, nil
	}
	request.Terse = true
	answer, err := solve.Solve(ctx, request)
	return err == nil && answer.Verdict == scheduling.ReasonPlaced && len(answer.Nodes) > 0, err
}

// refusedAlready reports without a search that a gang of which only numbers are given does not fit, and what it is
// short of: one of its shape was refused, room only gets less within one state of the room, and what is closed to a
// gang is closed to those that rank below it; or all that is free together is too little.
func (s *simulator) refusedAlready(r *run) (short []packing.Explanation, refused bool) {
	if last := s.refused[r.job.shape]; last.room == s.gangs.Now().Room {
		return last.short, true
	}
	lacking := s.account.lacking(r.size)
	return shortOf(lacking...), len(lacking) > 0
}

func shortOf(resources ...string) []packing.Explanation {
	var short []packing.Shortage
	for _, resource := range resources {
		short = append(short, packing.Shortage{Resource: resource})
	}
	return []packing.Explanation{{Short: short}}
}

// closedToLast is what is closed to the last of those who wait; nil if nothing is.
func (s *simulator) closedToLast(ctx context.Context, waiting []*run) (*overtaking.Closed, error) {
	for _, r := range slices.Backward(waiting) {
		if r.podGroup == nil {
			continue
		}
		nodes, err := s.offline.Nodes()
		if err != nil {
			return nil, err
		}
		closed := s.keeper.ClosedTo(ctx, s.assemble(r), nodes)
		if closed.Note == "" {
			return nil, nil
		}
		return &closed, nil
	}
	return nil, nil
}

// question is what is asked about a gang, without nodes; nil if it cannot be planned.
func (s *simulator) question(podGroup *scheduling.PodGroup) (*decision.Question, error) {
	r := s.by[gang.KeyOfPodGroup(podGroup)]
	if r == nil {
		return nil, nil
	}
	assembled := s.assemble(r)
	if r.held != nil {
		return nil, nil
	}
	s.meet(r)
	return &decision.Question{
		Gang: assembled, Topologies: s.cluster.Topologies, View: s.view, Placement: s.cluster.Placement, Terse: true,
	}, nil
}

// meet records for a gang where its related gangs stand.
func (s *simulator) meet(r *run) {
	r.assembled.Relate(func(key gang.Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
		return func(yield func(*scheduling.PodGroup, []*corev1.Pod) bool) {
			for _, other := range s.counted[key] {
				if !yield(other.podGroup, other.standing) {
					return
				}
			}
		}
	})
	if r.assembled.Shared == nil {
		return
	}
	r.assembled.Shared.Others = nil
	for _, other := range s.related[r.assembled.Shared.Base] {
		if other != r {
			r.assembled.Shared.Add(other.job.key(), gang.NodesOf(other.standing))
		}
	}
}

// followersOf returns the gangs that have to go where one goes.
func (s *simulator) followersOf(leader *gang.Gang) (followers []*gang.Gang) {
	if !leader.Leads() {
		return nil
	}
	for _, other := range s.related[leader.Shared.Base] {
		if follower := s.assemble(other); other.held == nil && len(other.pending) > 0 && follower.Follows(leader) {
			followers = append(followers, follower)
		}
	}
	return followers
}

func (s *simulator) podGroup(key gang.Key) (*scheduling.PodGroup, error) {
	if r := s.by[key]; r != nil {
		return r.podGroup, nil
	}
	return s.cluster.PodGroup(key)
}

// fitsAlone decides a gang on the cluster without the rest of the stream.
func (s *simulator) fitsAlone(ctx context.Context, r *run) (bool, error) {
	if shape := r.job.shape; shape != nil {
		if fits, known := s.fits[shape]; known {
			return fits, nil
		}
	}
	if s.alone == nil {
		var err error
		if s.alone, err = turns.Set(ctx, s.cluster); err != nil {
			return false, err
		}
		s.alone = s.alone.KeepingRoom()
	}
	podGroup, pods := r.job.objects(r.arrived)
	assembled, hold := gang.Assemble(podGroup, pods, s.cluster.Levels)
	answer, err := s.alone.Try(ctx, turns.Turn{Gang: assembled, Hold: hold, Rank: assembled.Rank()})
	if err != nil {
		return false, err
	}
	fits := answer.Verdict != scheduling.ReasonInfeasible
	if shape := r.job.shape; shape != nil {
		s.fits[shape] = fits
	}
	return fits, nil
}

package simulate

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
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
	question := s.question(r.podGroup)
	if question == nil {
		return false, nil
	}
	if question.Nodes, err = s.offline.Nodes(); err != nil {
		return false, err
	}
	request := solve.Request{Question: *question}
	answer, err := s.answer(ctx, r, &request)
	if err == nil && len(answer.Nodes) > 0 {
		answer, err = s.afterReserving(ctx, r, &request, answer)
	}
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

// refuse records that a gang does not fit, and has it preempt others. The answer to another one like it holds for it,
// too: that it does not fit, and that nobody can be preempted.
func (s *simulator) refuse(ctx context.Context, r *run, request solve.Request, answer *decision.Answer) (bool, error) {
	if s.gangs.Waits(r.rank.Gang) {
		s.gangs.Tried(r.rank.Gang, r.tried)
	} else {
		s.gangs.DidNotFit(request.Gang, overtaking.ClaimOf(request.Gang, answer), s.gangs.Now())
	}
	s.wakeFor(s.reserver.Extend(r.rank.Gang, moment(s.now)))
	if alike := s.alike(r.podGroup); alike != nil {
		if last, known := s.refused[alike]; known && last.room == r.tried {
			return false, nil
		}
		s.refused[alike] = refusal{r.tried, answer.Explanations}
	}
	return s.preempt(ctx, r, request)
}

// alike is what plain gangs without pods on nodes have in common with others like them; nil for other gangs. A refusal
// holds for all of these while room only gets less: their pods have no rules.
func (s *simulator) alike(podGroup *scheduling.PodGroup) any {
	if r := s.by[gang.KeyOfPodGroup(podGroup)]; r != nil && len(r.standing) == 0 && r.job.alike != "" {
		return r.job.alike
	}
	return nil
}

// answer decides a gang. The request is completed, unless the gang is refused without a search.
func (s *simulator) answer(ctx context.Context, r *run, request *solve.Request) (*decision.Answer, error) {
	alike := s.alike(r.podGroup)
	if alike != nil {
		if short, refused := s.refusedAlready(r, alike); refused {
			return &decision.Answer{Verdict: scheduling.ReasonInfeasible, Explanations: short}, nil
		}
	}
	s.complete(r, request)
	// What a gang is short of is asked when it first does not fit. Where it asks for one thing, that is it.
	request.Terse = s.gangs.Waits(r.rank.Gang) || r.asksForOne()
	answer, err := solve.Solve(ctx, *request)
	if err == nil {
		err = ctx.Err()
	}
	return answer, err
}

// afterReserving returns the answer for a gang, or another one after room was reserved for a gang that it would
// overtake once too often.
func (s *simulator) afterReserving(
	ctx context.Context, r *run, request *solve.Request, answer *decision.Answer,
) (*decision.Answer, error) {
	reserved, effects, err := s.reserver.Before(ctx, r.takes(answer), moment(s.now))
	s.wakeFor(effects)
	if err != nil || !reserved {
		return answer, err
	}
	return s.answer(ctx, r, request)
}

// takes is what a gang takes by an answer. One that has lost pods replaces them.
func (r *run) takes(answer *decision.Answer) gangstate.Taking {
	taking := overtaking.TakingOf(r.assembled, answer)
	taking.Rank.Begun = taking.Rank.Begun || r.lost > 0
	return taking
}

// complete adds to a request the room that is kept from the gang, and the gangs that follow it.
func (s *simulator) complete(r *run, request *solve.Request) {
	rank := request.Gang.Rank()
	request.Reserved = s.gangs.Reserved(rank.Gang, rank.Priority)
	rank.Begun = rank.Begun || r.lost > 0
	overdue, _ := s.gangs.ReservedForOverdue(rank)
	request.Reserved = request.Reserved.And(overdue)
	request.Followers = s.followersOf(request.Gang)
}

// refusedAlready reports without a search that a plain gang does not fit, and what it is short of: one like it was
// refused, room only gets less within one state of the room, and lower ranks have to leave more room to overdue gangs;
// or all that is free together is too little.
func (s *simulator) refusedAlready(r *run, alike any) (short []packing.Explanation, refused bool) {
	if last, known := s.refused[alike]; known && last.room == s.gangs.Now().Room {
		return last.short, true
	}
	lacking := s.usage.lacking(r.kinds[0])
	return shortOf(lacking), len(lacking) > 0
}

func shortOf(resources []string) []packing.Explanation {
	var short []packing.Shortage
	for _, resource := range resources {
		short = append(short, packing.Shortage{Resource: resource})
	}
	return []packing.Explanation{{Short: short}}
}

// question is what is asked about a gang, without nodes; nil if it cannot be planned.
func (s *simulator) question(podGroup *scheduling.PodGroup) *decision.Question {
	r := s.by[gang.KeyOfPodGroup(podGroup)]
	if r == nil {
		return nil
	}
	assembled := s.assemble(r)
	if r.held != nil {
		return nil
	}
	s.meet(r)
	return &decision.Question{
		Gang: assembled, Topologies: s.cluster.Topologies, View: s.view, Placement: s.cluster.Placement, Terse: true,
	}
}

// request is what is asked about a gang that waits; nil if it cannot be planned.
func (s *simulator) request(key gang.Key) (*solve.Request, error) {
	r := s.by[key]
	if r == nil || len(r.pending) == 0 {
		return nil, nil
	}
	question := s.question(r.podGroup)
	if question == nil {
		return nil, nil
	}
	var err error
	if question.Nodes, err = s.offline.Nodes(); err != nil {
		return nil, err
	}
	request := &solve.Request{Question: *question}
	s.complete(r, request)
	return request, nil
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
	if fits, known := s.fits[r.job.alike]; known {
		return fits, nil
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
	if r.job.alike != "" {
		s.fits[r.job.alike] = fits
	}
	return fits, nil
}

package simulate

import (
	"context"
	"fmt"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/overtaking"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// schedule decides the waiting gangs by rank until no further gang is preempted. Gangs that are below their minimum
// then are stopped.
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
	if !r.queued || len(r.pending) == 0 || r.tried == s.room {
		return false, nil
	}
	if s.assemble(r); r.held != nil {
		return false, nil
	}
	answer, err := s.answer(ctx, r)
	if err == nil && len(answer.Nodes) > 0 {
		answer, err = s.afterReserving(ctx, r, answer)
	}
	if err != nil {
		return false, err
	}
	r.tried = s.room
	switch {
	case answer.Verdict != scheduling.ReasonPlaced:
		return s.refuse(ctx, r, answer)
	case len(answer.Nodes) == 0:
		return false, nil
	}
	return false, s.start(r, answer.Nodes, answer.Kept)
}

// refusal is the answer to a gang that does not fit: in which state of the room, and what it is short of.
type refusal struct {
	room  int
	short []packing.Explanation
}

// refuse records that a gang does not fit, and preempts other gangs for it. The answer holds for equal gangs too: they
// do not fit, and no gang can be preempted for them.
func (s *simulator) refuse(ctx context.Context, r *run, answer *solve.Answer) (bool, error) {
	if !s.gangs.View(r.rank.Gang).Waits {
		s.gangs.DidNotFit(r.assembled, overtaking.ClaimOf(r.assembled, answer), s.room, s.gangs.Now(), nil)
	}
	s.wakeFor(s.reserver.Extend(r.rank.Gang, moment(s.now)))
	if alike := r.alike(); alike != "" {
		if last, known := s.refused[alike]; known && last.room == r.tried {
			return false, nil
		}
		s.refused[alike] = refusal{r.tried, answer.Explanations}
	}
	return s.preempt(ctx, r)
}

// alike is what plain gangs without pods on nodes have in common with others like them; empty for other gangs. A
// refusal holds for all of these while room only gets less: their pods have no rules.
func (r *run) alike() string {
	if len(r.standing) == 0 {
		return r.job.alike
	}
	return ""
}

// answer decides a gang, without a search if its refusal is certain.
func (s *simulator) answer(ctx context.Context, r *run) (*solve.Answer, error) {
	if short, refused := s.refusedAlready(r); refused {
		return &solve.Answer{Verdict: scheduling.ReasonInfeasible, Explanations: short}, nil
	}
	request, err := s.request(r)
	if err != nil {
		return nil, err
	}
	// What a gang is short of is asked when it first does not fit. Where it asks for one thing, that is it.
	request.Terse = s.gangs.View(r.rank.Gang).Waits || r.asksForOne()
	answer, err := solve.Solve(ctx, request)
	if err == nil {
		err = ctx.Err()
	}
	return answer, err
}

// afterReserving returns the answer for a gang, or another one after room was reserved for a gang that it would
// overtake once too often.
func (s *simulator) afterReserving(ctx context.Context, r *run, answer *solve.Answer) (*solve.Answer, error) {
	reserved, effects, err := s.reserver.Before(ctx, r.takes(answer), moment(s.now))
	s.wakeFor(effects)
	if err != nil || !reserved {
		return answer, err
	}
	return s.answer(ctx, r)
}

// takes is what a gang takes by an answer. One that has lost pods replaces them.
func (r *run) takes(answer *solve.Answer) gangstate.Taking {
	taking := overtaking.TakingOf(r.assembled, answer)
	taking.Rank.Begun = taking.Rank.Begun || r.lost > 0
	return taking
}

// refusedAlready reports without a search that a plain gang does not fit, and what it is short of: one like it was
// refused, room only gets less within one state of the room, and lower ranks have to leave more room to overdue gangs;
// or all that is free together is too little.
func (s *simulator) refusedAlready(r *run) (short []packing.Explanation, refused bool) {
	if r.alike() == "" {
		return nil, false
	}
	if last, known := s.refused[r.alike()]; known && last.room == s.room {
		return last.short, true
	}
	lacking := s.usage.lacking(r.kinds[0])
	return []packing.Explanation{{Short: lacking}}, len(lacking) > 0
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
	podGroup, pods := r.job.objects(r.Arrived)
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

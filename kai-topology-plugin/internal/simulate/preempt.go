package simulate

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/preemption"
	"packtree.dev/kai-topology-plugin/internal/solve"
)

// preempt has gangs of lower priority leave for one that does not fit, if that helps. Pods of the cluster itself stay.
func (s *simulator) preempt(ctx context.Context, r *run, request solve.Request) (bool, error) {
	below := func(priority int32) bool { return priority < r.priority }
	if !anyKey(s.priorities, below) || slices.ContainsFunc(r.pending, preemptsNever) {
		return false, nil
	}
	made, err := s.victims(ctx, r, request)
	if err != nil || made.Nodes == nil {
		return false, err
	}
	nodes, err := s.terrain.named(made.Nodes, request.Gang.Pending)
	if err != nil {
		return false, err
	}
	leave := sets.New(made.Leave...)
	leaves := func(pod *corev1.Pod) bool { return leave.Has(string(pod.UID)) }
	for _, other := range slices.Clone(s.active) {
		if slices.ContainsFunc(other.standing, leaves) {
			if err := s.evict(other, leaves); err != nil {
				return false, err
			}
		}
	}
	return true, s.start(r, nodes)
}

// victims are who leaves for a gang that does not fit, and the nodes that it gets then; none if that helps nothing.
func (s *simulator) victims(ctx context.Context, r *run, request solve.Request) (*decided, error) {
	if known, err := s.options.decisions.next(); err != nil || known != nil {
		return known, err
	}
	ofStream := func(_ *preemption.Workload, pods []*corev1.Pod) bool {
		key, _ := gang.KeyOf(pods[0])
		return s.by[key] != nil
	}
	candidates, err := preemption.CandidatesBelow(
		r.priority, r.rank.Gang, request.Nodes, s.podGroup, preemption.Budgets{}, ofStream)
	if err != nil {
		return nil, err
	}
	made := &decided{}
	if !candidates.Empty() {
		if request.Reserved == nil {
			closed := s.keeper.ClosedTo(ctx, request.Gang, request.Nodes)
			s.complete(&request, r, &closed)
		}
		choice, err := preemption.Find(ctx, preemption.Request{
			Question: request.Question, Snapshot: s.offline.SnapshotSharedLister().NodeInfos(), Candidates: candidates,
			Decide: func() (*decision.Answer, error) { return s.options.Decider.Decide(ctx, request) },
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if choice != nil {
			made.Nodes = s.terrain.places(choice.Nodes, request.Gang.Pending)
			for _, victim := range choice.Victims {
				made.Leave = append(made.Leave, string(victim.UID))
			}
		}
	}
	return made, s.options.decisions.add(made)
}

func anyKey(counts map[int32]int, is func(int32) bool) bool {
	for key := range counts {
		if is(key) {
			return true
		}
	}
	return false
}

func preemptsNever(pod *corev1.Pod) bool {
	return pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever
}

package simulate

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// preempt has gangs of lower priority leave for one that does not fit, if that helps. Pods of the cluster itself stay.
func (s *simulator) preempt(ctx context.Context, r *run) (bool, error) {
	below := func(other *run) bool { return other.priority < r.priority }
	if !slices.ContainsFunc(s.active, below) || s.assemble(r).PreemptsNobody() {
		return false, nil
	}
	choice, err := s.victims(ctx, r)
	if err != nil || choice == nil {
		return false, err
	}
	victims := sets.New[types.UID]()
	for _, victim := range choice.Victims {
		victims.Insert(victim.UID)
	}
	leaves := func(pod *corev1.Pod) bool { return victims.Has(pod.UID) }
	for _, other := range slices.Clone(s.active) {
		if slices.ContainsFunc(other.standing, leaves) {
			if err := s.evict(other, leaves); err != nil {
				return false, err
			}
		}
	}
	return true, s.start(r, choice.Nodes, nil)
}

// victims returns the pods that leave for a gang that does not fit, and the nodes that it gets then; nil if that helps
// nothing.
func (s *simulator) victims(ctx context.Context, r *run) (*preemption.Choice, error) {
	ofStream := func(pods []*corev1.Pod) bool {
		key, _ := gang.KeyOf(pods[0])
		return s.by[key] != nil
	}
	nodes, err := s.offline.Nodes()
	if err != nil {
		return nil, err
	}
	candidates, err := preemption.CandidatesAmong(r.rank, nodes, s.podGroup, preemption.Budgets{}, ofStream)
	if err != nil || candidates.Empty() {
		return nil, err
	}
	request, err := s.request(r)
	if err != nil {
		return nil, err
	}
	choice, err := preemption.Find(ctx, preemption.Request{
		Request: request, Snapshot: s.offline.SnapshotSharedLister().NodeInfos(), Candidates: candidates,
		Decide: func() (*solve.Answer, error) { return solve.Solve(ctx, request) },
	})
	if err == nil {
		err = ctx.Err()
	}
	return choice, err
}

package simulate

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/planner"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/staleness"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// request is what is asked about a gang that can be planned.
func (s *simulator) request(r *run) (solve.Request, error) {
	nodes, err := s.offline.Nodes()
	if err != nil {
		return solve.Request{}, err
	}
	return planner.Request(present{s, nodes}, s.assemble(r), r.held)
}

// requestOf is what is asked about a gang that waits; nil if it cannot be planned.
func (s *simulator) requestOf(key gang.Key) (*solve.Request, error) {
	r := s.by[key]
	if r == nil || len(r.pending) == 0 {
		return nil, nil
	}
	if s.assemble(r); r.held != nil {
		return nil, nil
	}
	request, err := s.request(r)
	return &request, err
}

// present is the simulated cluster at the moment.
type present struct {
	*simulator
	nodes []fwk.NodeInfo
}

func (p present) Common() solve.Request {
	return solve.Request{View: p.view, Nodes: p.nodes, Placement: p.cluster.Placement, Terse: true}
}

func (p present) Topologies(...*gang.Gang) (map[string]*kai.Topology, error) {
	return p.cluster.Topologies, nil
}

func (p present) Related(key gang.Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
	return p.index.Related(key, p.podsOf)
}

func (p present) PodsOf(key gang.Key) ([]*corev1.Pod, error) { return p.podsOf(key), nil }

func (p present) podsOf(key gang.Key) []*corev1.Pod {
	return slices.Concat(p.by[key].pending, p.by[key].standing)
}

func (p present) Assemble(podGroup *scheduling.PodGroup, pods []*corev1.Pod) (*gang.Gang, *gang.Hold) {
	return gang.Assemble(podGroup, pods, p.cluster.Levels)
}

func (p present) Stays(podGroup *scheduling.PodGroup) bool {
	return !staleness.StopsAny(podGroup, moment(p.now))
}

// Kept lets a gang that has lost pods replace them as one that has begun.
func (p present) Kept(assembled *gang.Gang) planner.Kept {
	rank := assembled.Rank()
	rank.Begun = rank.Begun || p.by[rank.Gang].lost > 0
	reserved := p.gangs.Reserved(rank, nil)
	return planner.Kept{Room: reserved.Room.And(reserved.Overdue)}
}

package turns

import (
	"iter"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/planner"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/staleness"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Common has the nodes of the table: it is a planner.Cluster.
func (t *Table) Common() solve.Request {
	return solve.Request{
		View: t.view, Nodes: t.nodes, Placement: t.placement, Terse: t.terse, Absent: t.absent,
	}
}

// Topologies returns all: no gang of the table names another.
func (t *Table) Topologies(...*gang.Gang) (map[string]*kai.Topology, error) { return t.topologies, nil }

// Related has the pods that stand.
func (t *Table) Related(key gang.Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
	return t.index.Related(key, t.podsOf)
}

// PodsOf has the pods as they are.
func (t *Table) PodsOf(key gang.Key) ([]*corev1.Pod, error) { return t.podsOf(key), nil }

func (t *Table) podsOf(key gang.Key) []*corev1.Pod { return t.members[key] }

// Assemble takes the gangs of every scheduler.
func (t *Table) Assemble(podGroup *scheduling.PodGroup, pods []*corev1.Pod) (*gang.Gang, *gang.Hold) {
	return gang.Assemble(podGroup, pods, t.levels)
}

// Stays is true of a gang that is not stopped at once: the moment of a cluster that was read is not known.
func (t *Table) Stays(podGroup *scheduling.PodGroup) bool { return !staleness.StopsAtOnce(podGroup) }

// Kept is room for followers, what the scheduler keeps, what a change reserves, and seats.
func (t *Table) Kept(assembled *gang.Gang) planner.Kept {
	rank := assembled.Rank()
	return planner.Kept{Room: t.gangs.Reserved(rank, nil).Room.And(t.keptFrom(rank)).And(t.reserved).
		And(t.SeatsFrom(rank))}
}

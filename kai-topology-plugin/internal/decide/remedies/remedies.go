// Package remedies finds changes by which a gang that does not fit would fit: of what it asks for, and of the nodes.
// Each is tried: the gang is decided again with the change, which is then taken back. Which gangs would have to leave
// for it is the answer of package preemption.
package remedies

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// Kind is what sort of change a remedy is.
type Kind string

// The kinds of remedies.
const (
	// RelaxLevel: a broader required topology level, or none.
	RelaxLevel Kind = "RelaxLevel"
	// LowerMinimum: fewer pods or subgroups that must be placed together.
	LowerMinimum Kind = "LowerMinimum"
	// Tolerate: one more toleration.
	Tolerate Kind = "Tolerate"
	// Uncordon: nodes that are cordoned take pods again.
	Uncordon Kind = "Uncordon"
	// AddNodes: more nodes in the nearest domain.
	AddNodes Kind = "AddNodes"
)

// Remedy is one change, and whether the gang would fit by it alone.
type Remedy struct {
	Kind Kind `json:"kind"`
	// Change says what to do, in one sentence without a full stop.
	Change string `json:"change"`
	// Fits is the result of deciding again. A change that does not help is listed too, to save people the attempt.
	Fits bool `json:"fits"`
}

// unplaced is the gang and the cluster in which it does not fit.
type unplaced struct {
	cluster *inventory.Inventory
	table   *turns.Table
	turn    turns.Turn
	pods    []*corev1.Pod
	// why is the decisive explanation.
	why packing.Explanation
}

// newUnplaced returns nil for a gang that is placed, or held: nothing explains why.
func newUnplaced(
	cluster *inventory.Inventory, table *turns.Table, turn turns.Turn, answer *solve.Answer,
) *unplaced {
	if turns.Placed(answer) || len(answer.Explanations) == 0 {
		return nil
	}
	return &unplaced{
		cluster: cluster, table: table, turn: turn, why: answer.Explanations[0],
		pods: slices.Concat(turn.Gang.Pending, turn.Gang.Standing),
	}
}

// Find tries everything that could help a gang with the answer Infeasible or Unknown on table, which has cluster on it.
// What helps comes first. It returns nil if there was nothing to try.
func Find(
	ctx context.Context, cluster *inventory.Inventory, table *turns.Table, turn turns.Turn, answer *solve.Answer,
) ([]Remedy, error) {
	p := newUnplaced(cluster, table, turn, answer)
	if p == nil {
		return nil, nil
	}
	found := []Remedy{}
	for _, try := range []func(context.Context) ([]Remedy, error){
		p.relaxLevel, p.lowerMinima, p.tolerate, p.uncordon, p.addNodes,
	} {
		more, err := try(ctx)
		if err != nil {
			return nil, fmt.Errorf("trying remedies: %w", err)
		}
		found = append(found, more...)
	}
	slices.SortStableFunc(found, func(a, b Remedy) int { return gang.CompareBools(!a.Fits, !b.Fits) })
	return found, nil
}

// withSpec decides the gang with another spec on the cluster as it is.
func (p *unplaced) withSpec(ctx context.Context, change func(*scheduling.PodGroup)) (bool, error) {
	podGroup := p.turn.Gang.PodGroup.DeepCopy()
	change(podGroup)
	answer, err := p.decide(ctx, p.table, podGroup, p.pods)
	return answer != nil && turns.Placed(answer), err
}

// withToleration decides the gang with one more toleration of its pods that wait.
func (p *unplaced) withToleration(ctx context.Context, toleration corev1.Toleration) (bool, error) {
	pods := make([]*corev1.Pod, len(p.pods))
	for i, pod := range p.pods {
		pods[i] = pod
		if gang.Pending(pod) {
			pods[i] = pod.DeepCopy()
			pods[i].Spec.Tolerations = append(pods[i].Spec.Tolerations, toleration)
		}
	}
	answer, err := p.decide(ctx, p.table, p.turn.Gang.PodGroup, pods)
	return answer != nil && turns.Placed(answer), err
}

// withNodes decides the gang as it is while nodes are added, or others of the same names are given. It returns nil if
// the gang does not fit.
func (p *unplaced) withNodes(
	ctx context.Context, nodes []*corev1.Node, reported ...*zones.Node,
) (answer *solve.Answer, err error) {
	err = p.table.Under(turns.Change{Nodes: nodes, Zones: reported}, func(changed *turns.Table) error {
		answer, err = p.decide(ctx, changed, p.turn.Gang.PodGroup, p.pods)
		return err
	})
	if err != nil || answer == nil || !turns.Placed(answer) {
		return nil, err
	}
	return answer, nil
}

func (p *unplaced) decide(
	ctx context.Context, table *turns.Table, podGroup *scheduling.PodGroup, pods []*corev1.Pod,
) (*solve.Answer, error) {
	assembled, hold := gang.Assemble(podGroup, pods, p.cluster.Levels)
	if hold != nil {
		return nil, nil
	}
	return table.Try(ctx, turns.Turn{Gang: assembled, Rank: p.turn.Rank})
}

// smallest returns the smallest number from 1 to high for which holds is true, given that it stays true from there on
// and is true for high.
func smallest(high int, holds func(int) (bool, error)) (int, error) {
	for low := 1; low < high; {
		middle := low + (high-low)/2
		ok, err := holds(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return high, nil
}

// group is the one that the explanation is about.
func (p *unplaced) group() *podgrouptree.Group {
	return p.turn.Gang.Tree.Group(p.why.Group)
}

// describe speaks of a group to people.
func describe(group *podgrouptree.Group) string {
	if group.Name == scheduling.RootGroup {
		return "the gang"
	}
	return "subgroup " + group.Name
}

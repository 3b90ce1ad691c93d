package repair

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
)

// Loss is a gang that loses pods with nodes, and how it would be repaired.
type Loss struct {
	Gang gang.Key
	// Pods counts the lost pods.
	Pods int
	// Plan is the least that has to move, whatever forbids it; with scheduling.ReasonNoPlace if nothing helps.
	Plan Plan
	// Hold says why the gang cannot be planned; nil if it can. There is no plan then.
	Hold *gang.Hold
}

// Without returns the gangs of a cluster that lose pods if some of its nodes are gone, in order of rank. Lost pods that
// fit beside the others get their nodes first, as the scheduler gives them at once. Then it is decided as in Plans what
// moves, with everything allowed that would help. A gang that has what it needs without these pods needs no repair: its
// plan is the empty one.
func Without(ctx context.Context, cluster *inventory.Inventory, nodes []string) ([]Loss, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	table, err := turns.Set(ctx, cluster)
	if err != nil {
		return nil, err
	}
	p := newPlanner(table, nil)
	failed := sets.New(nodes...)
	var losses []Loss
	var hurt []*breach
	for _, turn := range turns.In(cluster) {
		pods := 0
		for _, pod := range turn.Gang.Standing {
			if failed.Has(pod.Spec.NodeName) {
				pods++
			}
		}
		if pods == 0 {
			continue
		}
		losses = append(losses, Loss{Gang: turn.Rank.Gang, Pods: pods, Hold: turn.Hold})
		if turn.Hold == nil && turn.Gang.Tree != nil {
			hurt = append(hurt, p.without(turn, failed))
		}
	}
	// Gangs with some pods left go before gangs that have lost all.
	slices.SortStableFunc(hurt, func(a, b *breach) int { return a.turn.Rank.Compare(b.turn.Rank) })
	change := turns.Change{Failed: nodes, Gone: p.gone}
	if err := p.run(ctx, table.KeepingRoom(), change, hurt, p.stay, p.decide); err != nil {
		return nil, err
	}
	for i := range losses {
		losses[i].Plan = p.plans[losses[i].Gang]
	}
	return losses, nil
}

// without returns what is left of a gang that loses pods. If that is less than it needs, it has to start anew; if it
// lacked pods before, these are lost too.
func (p *planner) without(turn turns.Turn, failed sets.Set[string]) *breach {
	needed := !turn.Gang.Satisfied(gang.NoPending)
	hit := p.breachOf(turn, func(node *corev1.Node, _ *corev1.Pod) bool { return failed.Has(node.Name) })
	left := *turn.Gang
	if left.Standing = hit.kept; !left.Satisfied(gang.NoPending) {
		hit.turn.Gang, hit.turn.Rank.Begun = turn.Gang.Restarted(), len(hit.kept) > 0
	}
	if needed {
		hit.lost = append(hit.lost, turn.Gang.Pending...)
	}
	hit.climb()
	return hit
}

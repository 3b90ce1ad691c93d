package repair

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/shared/podgrouptree"
)

// breach is a gang that has lost pods.
type breach struct {
	Asked
	turn turns.Turn
	// lost are its pods that need another node, kept its running pods.
	lost, kept []*corev1.Pod
	// ladders has, for each innermost group with a constraint of its own that has lost pods, that group and those with
	// a constraint around it, up to the root.
	ladders [][]*group
}

// group is one that may move.
type group struct {
	*podgrouptree.Group
	// pods are those of the group that stand.
	pods []*corev1.Pod
}

// hurt returns the gangs that are asked about, in order of rank. Pods that stand on nodes which are gone or are about
// to stop them are lost.
func (p *planner) hurt(asked []Asked) (all []*breach) {
	byGang := map[gang.Key]Asked{}
	for _, one := range asked {
		byGang[one.Gang] = one
	}
	for _, turn := range turns.In(p.cluster) {
		one, found := byGang[turn.Rank.Gang]
		if !found || turn.Hold != nil || turn.Gang.Tree == nil || len(turn.Gang.Standing) == 0 {
			continue
		}
		hit := p.breachOf(turn, kubeframework.Evicts)
		hit.Asked = one
		if hit.lost = append(hit.lost, turn.Gang.Pending...); len(hit.lost) > 0 {
			hit.climb()
			all = append(all, hit)
		}
	}
	return all
}

// breachOf divides the pods of a gang: a pod is lost if its node is deleted, or loses it.
func (p *planner) breachOf(turn turns.Turn, loses func(*corev1.Node, *corev1.Pod) bool) *breach {
	hit := &breach{Asked: Asked{Gang: turn.Rank.Gang}, turn: turn}
	for _, pod := range turn.Gang.Standing {
		node := p.nodes[pod.Spec.NodeName]
		switch {
		case node == nil:
			hit.lost = append(hit.lost, pod)
		case loses(node, pod):
			hit.lost = append(hit.lost, pod)
			p.gone = append(p.gone, pod)
		default:
			hit.kept = append(hit.kept, pod)
		}
	}
	return hit
}

// climb finds the ladders from where pods were lost.
func (b *breach) climb() {
	known := map[*podgrouptree.Group]*group{}
	for _, pod := range b.lost {
		ladder := b.ladder(b.turn.Gang.Tree.Leaf(gang.LeafOf(pod)), known)
		if !slices.ContainsFunc(b.ladders, func(other []*group) bool { return other[0] == ladder[0] }) {
			b.ladders = append(b.ladders, ladder)
		}
	}
}

// ladder returns the groups around a leaf that may move, the innermost first and the root last.
func (b *breach) ladder(leaf *podgrouptree.Group, known map[*podgrouptree.Group]*group) []*group {
	var rungs []*group
	for at := leaf; at != nil; at = at.Parent {
		if at.Parent != nil && at.Constraint.RequiredTopologyLevel == "" {
			continue
		}
		if known[at] == nil {
			others := func(pod *corev1.Pod) bool { return !b.in(at, pod) }
			known[at] = &group{Group: at, pods: slices.DeleteFunc(slices.Clone(b.kept), others)}
		}
		rungs = append(rungs, known[at])
	}
	return rungs
}

// in reports whether a pod is of a group, or of one below it.
func (b *breach) in(top *podgrouptree.Group, pod *corev1.Pod) bool {
	return gang.Within(b.turn.Gang.Tree, top.Name, gang.LeafOf(pod))
}

// root is the whole gang.
func (b *breach) root() *group {
	ladder := b.ladders[0]
	return ladder[len(ladder)-1]
}

// maxChoices bounds how many combinations of groups are tried for one gang.
const maxChoices = 256

// choices returns what may move, fewest pods first. Where there are too many combinations they are the groups of one
// rung: all innermost ones, then all around them. The last one is the whole gang. What has no pods need not move.
func (b *breach) choices() [][]*group {
	combinations := 1
	for _, ladder := range b.ladders {
		if combinations *= len(ladder) + 1; combinations > maxChoices {
			return b.rungs()
		}
	}
	var all [][]*group
	for number := range combinations {
		chosen := sets.New[*group]()
		for _, ladder := range b.ladders {
			if at := number % (len(ladder) + 1); at > 0 {
				chosen.Insert(ladder[at-1])
			}
			number /= len(ladder) + 1
		}
		if moved := outermost(chosen); podsOf(moved) > 0 {
			all = append(all, moved)
		}
	}
	slices.SortStableFunc(all, func(x, y []*group) int {
		return cmp.Or(cmp.Compare(podsOf(x), podsOf(y)), cmp.Compare(len(x), len(y)))
	})
	return slices.CompactFunc(all, slices.Equal)
}

func podsOf(groups []*group) (count int) {
	for _, one := range groups {
		count += len(one.pods)
	}
	return count
}

func (b *breach) rungs() [][]*group {
	var all [][]*group
	for rung := 0; ; rung++ {
		chosen := sets.New[*group]()
		for _, ladder := range b.ladders {
			chosen.Insert(ladder[min(rung, len(ladder)-1)])
		}
		if moved := outermost(chosen); podsOf(moved) > 0 {
			all = append(all, moved)
		}
		if chosen.Len() == 1 && chosen.Has(b.root()) {
			return all
		}
	}
}

// outermost leaves out groups inside of others, and sorts by name.
func outermost(chosen sets.Set[*group]) []*group {
	within := func(inner *group) bool {
		for outer := range chosen {
			for at := inner.Parent; at != nil; at = at.Parent {
				if at == outer.Group {
					return true
				}
			}
		}
		return false
	}
	outer := slices.DeleteFunc(chosen.UnsortedList(), within)
	slices.SortFunc(outer, func(x, y *group) int { return cmp.Compare(x.Name, y.Name) })
	return outer
}

// without returns the gang with its lost pods, and those of the groups that move, to be placed anew; and the latter.
func (b *breach) without(moved []*group) (turn turns.Turn, moving []*corev1.Pod) {
	for _, group := range moved {
		moving = append(moving, group.pods...)
	}
	leaving := sets.New(moving...)
	changed := *b.turn.Gang
	changed.Standing = slices.DeleteFunc(slices.Clone(b.kept), leaving.Has)
	changed.Pending, changed.Gated, changed.Expected = nil, nil, nil
	for _, pod := range slices.Concat(b.lost, moving) {
		changed.Pending = append(changed.Pending, gang.Replacement(pod))
	}
	if changed.Shared != nil {
		shared := *changed.Shared
		changed.Shared = &shared
	}
	return turns.Turn{Gang: &changed, Rank: b.turn.Rank}, moving
}

// fallen returns the pods of groups that still stand, on nodes which are gone or are about to stop them.
func (b *breach) fallen(groups []*group) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(b.lost), func(pod *corev1.Pod) bool {
		moves := func(one *group) bool { return b.in(one.Group, pod) }
		return !gang.Standing(pod) || !slices.ContainsFunc(groups, moves)
	})
}

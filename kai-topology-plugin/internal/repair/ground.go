package repair

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/turns"
	"packtree.dev/shared/podgrouptree"
)

// ground is where in the cluster a forecast looked: nodes elsewhere do not matter to it. It follows from the
// constraints. Pods of a group that is tied to a domain go nowhere else. A group that is not may go to any domain
// that has room for it, which is found by counting pods as if all nodes took them: a domain that has no room by that
// count has none.
type ground struct {
	rooms *rooms
	// everything is set if any change may matter.
	everything bool
	// tied are domains that groups are tied to.
	tied sets.Set[domain]
	// free are groups that are not tied to a domain of the level that they require.
	free []*freeGroup
}

// freeGroup is a group that may go to any domain of the level that it requires.
type freeGroup struct {
	group *podgrouptree.Group
	// within is the domain that it must not leave; the zero value if there is none.
	within domain
	// needs has what a pod of each leaf asks for at least.
	needs map[*podgrouptree.Group]*request
	// left are pods whose room the group may take.
	left []*corev1.Pod
	// candidates are the domains that had room for it.
	candidates sets.Set[domain]
}

func newGround(rooms *rooms) *ground { return &ground{rooms: rooms, tied: sets.New[domain]()} }

// add has the ground reach as far as one more answer: about a gang, when some pods had left nodes that take others.
func (g *ground) add(turn turns.Turn, left []*corev1.Pod, answer *decision.Answer) error {
	// To some gangs matters where others stand, and to others where any pod does.
	g.everything = g.everything || turn.Gang.Shared != nil || len(turn.Gang.Relations) > 0 || !answer.Basis.Lasts()
	leaves := sets.New[string]()
	for _, pod := range turn.Gang.Pending {
		leaves.Insert(gang.LeafOf(pod))
	}
	for name := range leaves {
		if g.everything {
			return nil
		}
		if err := g.addLeaf(turn.Gang, turn.Gang.Tree.Leaf(name), left); err != nil {
			return err
		}
	}
	return nil
}

// addLeaf adds where pods of a leaf may go: to the domain that the innermost group around it is tied to. If that
// group is free, so is all up to a group that is tied.
func (g *ground) addLeaf(of *gang.Gang, leaf *podgrouptree.Group, left []*corev1.Pod) error {
	var outermost *podgrouptree.Group
	for at := leaf; at != nil; at = at.Parent {
		if at.Constraint.RequiredTopologyLevel == "" {
			continue
		}
		standing := slices.DeleteFunc(slices.Clone(of.Standing), func(pod *corev1.Pod) bool {
			return !inside(of, at, pod)
		})
		if len(standing) == 0 {
			outermost = at
			continue
		}
		tied, known := g.rooms.domainsOf(at, standing)
		switch {
		case !known:
			g.everything = true
			return nil
		case outermost == nil:
			g.tied = g.tied.Union(tied)
			return nil
		case tied.Len() == 1:
			return g.addFree(of, outermost, tied.UnsortedList()[0], left)
		}
	}
	if outermost == nil {
		g.everything = true
		return nil
	}
	return g.addFree(of, outermost, domain{}, left)
}

func (g *ground) addFree(of *gang.Gang, group *podgrouptree.Group, within domain, left []*corev1.Pod) error {
	if slices.ContainsFunc(g.free, func(known *freeGroup) bool {
		return known.group == group && known.within == within && slices.Equal(known.left, left)
	}) {
		return nil
	}
	free := &freeGroup{group: group, within: within, left: left, candidates: sets.New[domain]()}
	places, known := g.rooms.level(group)
	if !known {
		g.everything = true
		return nil
	}
	var err error
	if free.needs, err = g.rooms.needsOf(of, group); err != nil {
		return err
	}
	for _, place := range places {
		found, err := g.rooms.have(free, place)
		if err != nil {
			return err
		}
		if found {
			free.candidates.Insert(place.domain)
		}
	}
	g.free = append(g.free, free)
	return nil
}

// reaches reports whether nodes that have changed may matter.
func (g *ground) reaches(changed *changes) (bool, error) {
	if g.everything {
		return true, nil
	}
	if changed.domains.HasAny(g.tied.UnsortedList()...) {
		return true, nil
	}
	for _, free := range g.free {
		for _, at := range changed.at[levelOf(free.group)] {
			if free.candidates.Has(at) {
				return true, nil
			}
			place := g.rooms.byDomain[at]
			if place == nil {
				continue // Its last node is gone.
			}
			if found, err := g.rooms.have(free, place); found || err != nil {
				return true, err
			}
		}
	}
	return false, nil
}

// inside reports whether a pod is of a group, or of one below it.
func inside(of *gang.Gang, top *podgrouptree.Group, pod *corev1.Pod) bool {
	for at := of.Tree.Leaf(gang.LeafOf(pod)); at != nil; at = at.Parent {
		if at == top {
			return true
		}
	}
	return false
}

// changes are the domains in which nodes have changed.
type changes struct {
	domains sets.Set[domain]
	at      map[level][]domain
}

// changesOf returns the domains around nodes as they were and as they are.
func (r *rooms) changesOf(nodes []clusterview.Changed) *changes {
	all := &changes{domains: sets.New[domain](), at: map[level][]domain{}}
	for _, node := range nodes {
		for _, labels := range []map[string]string{node.Before, node.Now} {
			for topology, keys := range r.keys {
				for depth := range along(labels, keys) {
					at := domain{topology, along(labels, keys)[:depth+1].String()}
					if !all.domains.Has(at) {
						all.domains.Insert(at)
						all.at[level{topology, keys[depth]}] = append(all.at[level{topology, keys[depth]}], at)
					}
				}
			}
		}
	}
	return all
}

// in reports whether a domain is in another one, as far as one Topology shows.
func (d domain) in(outer domain) bool {
	return d.topology != outer.topology || d.path == outer.path || strings.HasPrefix(d.path, outer.path+"/")
}

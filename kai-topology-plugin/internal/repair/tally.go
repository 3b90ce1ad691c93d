package repair

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// have reports whether a domain may have room for what a free group needs at least: for each group in it by itself,
// and for all their pods in the domains that any of them can use. More is not looked at, such as what keeps pods from
// nodes.
func (r *rooms) have(free *freeGroup, at *place) (bool, error) {
	if free.within != (domain{}) && !at.in(free.within) {
		return false, nil
	}
	t := &tally{
		rooms: r, needs: free.needs, extra: map[int]packing.Resources{}, pods: map[use]int{}, usable: map[use]bool{},
	}
	for _, pod := range free.left {
		if err := t.leave(pod, at); err != nil {
			return false, err
		}
	}
	return t.holds(free.group, at) && t.all() >= free.group.MinPods(), nil
}

// tally counts the room for one group.
type tally struct {
	*rooms
	needs map[*podgrouptree.Group]*request
	// extra has what is free on nodes that pods have left.
	extra map[int]packing.Resources
	// pods is the room that was counted, and usable are the domains that can hold the minimum of some leaf.
	pods   map[use]int
	usable map[use]bool
}

// use is so many pods of a kind in a domain.
type use struct {
	*request
	*place
}

// leave has a pod leave its node, if that is in a domain.
func (t *tally) leave(pod *corev1.Pod, at *place) error {
	node, known := t.index[pod.Spec.NodeName]
	if !known || !slices.Contains(t.around[at.topology][node], at) {
		return nil
	}
	asks, err := t.asks(pod)
	if err != nil {
		return err
	}
	if t.extra[node] == nil {
		t.extra[node] = t.observer.Free(pod.Spec.NodeName)
	}
	for resource, amount := range asks {
		t.extra[node][resource] += amount
	}
	return nil
}

// holds reports whether a domain may hold the minimum of a group.
func (t *tally) holds(group *podgrouptree.Group, at *place) bool {
	if group.Leaf() {
		in := use{t.needs[group], at}
		enough := t.count(in) >= int(group.MinMember)
		t.usable[in] = t.usable[in] || enough
		return enough
	}
	satisfied := 0
	for _, child := range group.Children {
		if t.takes(child, at) {
			satisfied++
		}
	}
	return satisfied >= int(group.MinSubGroup)
}

// takes reports whether a domain may hold the minimum of a group, which may require a domain inside of it.
func (t *tally) takes(group *podgrouptree.Group, at *place) (found bool) {
	of := levelOf(group)
	depth := slices.Index(t.keys[at.topology], of.key)
	if of.key == "" || of.topology != at.topology || depth <= at.depth {
		return t.holds(group, at)
	}
	for _, inner := range at.inside {
		if inner.depth < depth {
			found = t.takes(group, inner) || found
		} else {
			found = t.holds(group, inner) || found
		}
	}
	return found
}

// count returns how many pods a domain has room for.
func (t *tally) count(in use) (pods int) {
	if known, ok := t.pods[in]; ok {
		return known
	}
	for _, node := range in.nodes {
		pods += in.room[node]
	}
	for node, free := range t.extra {
		if slices.Contains(t.around[in.topology][node], in.place) {
			pods += fitting(free, in.amounts) - in.room[node]
		}
	}
	t.pods[in] = pods
	return pods
}

// all returns how many pods of all kinds the usable domains have room for together.
func (t *tally) all() (pods int) {
	for in, usable := range t.usable {
		counted := false
		for outer := in.outer; outer != nil; outer = outer.outer {
			counted = counted || t.usable[use{in.request, outer}]
		}
		if usable && !counted {
			pods += t.count(in)
		}
	}
	return pods
}

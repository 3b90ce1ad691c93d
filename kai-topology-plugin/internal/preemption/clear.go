package preemption

import (
	"cmp"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// clear returns who leaves a domain so that the gang fits, or nil if it does not fit whoever leaves. It lets
// everybody leave up to the lowest priority with which the gang fits, and then gives back whoever need not leave, the
// most important first. It begins so with all, with the few largest and with the few smallest of them, and takes the
// cheapest outcome.
func (s *search) clear(d *domain) set {
	pool := s.pool(d)
	if pool == nil {
		return nil
	}
	var best set
	var least Cost
	for i, start := range s.starts(pool) {
		if i > 0 && s.spent() {
			break
		}
		if !s.fits(s.leaving(start)) {
			continue
		}
		taken := s.reprieve(d, start)
		if cost := s.costOf(taken); best == nil || cost.Compare(least) < 0 {
			best, least = taken, cost
		}
	}
	return best
}

// leaving is the set in which these workloads leave as a whole.
func (s *search) leaving(workloads []int) set {
	taken := s.nobody()
	for _, i := range workloads {
		taken[i] = s.whole(i)
	}
	return taken
}

// pool returns the workloads that may have to leave: those whose leaving overdraws no budget if that is enough, else
// all; of them those up to the lowest priority that is enough. It is nil if not even all are.
func (s *search) pool(d *domain) []int {
	all := make([]int, len(d.occupants))
	for i, t := range d.occupants {
		all[i] = t.workload
	}
	slices.SortFunc(all, s.byImportance)
	for _, pool := range [][]int{s.gentle(all), all} {
		if len(pool) == 0 || !s.fits(s.leaving(pool)) {
			continue
		}
		return pool[:s.prefix(pool, func(a, b int) bool { return s.workloads[a].Priority == s.workloads[b].Priority })]
	}
	return nil
}

// byImportance orders the least important first.
func (s *search) byImportance(a, b int) int {
	v, w := s.workloads[a], s.workloads[b]
	return cmp.Or(
		cmp.Compare(v.Priority, w.Priority),
		cmp.Compare(sum(v.devices), sum(w.devices)),
		cmp.Compare(len(v.Pods), len(w.Pods)),
		w.Pods[0].Since.Compare(v.Pods[0].Since),
		cmp.Compare(a, b),
	)
}

// gentle returns the workloads, the least important first, that can leave together without overdrawing a budget.
func (s *search) gentle(ordered []int) []int {
	left := slices.Clone(s.q.Budgets)
	var pool []int
	for _, i := range ordered {
		drawn := map[int]int{}
		for p := range s.workloads[i].Pods {
			for _, budget := range s.workloads[i].Pods[p].Budgets {
				drawn[budget]++
			}
		}
		within := true
		for budget, count := range drawn {
			within = within && count <= left[budget]
		}
		if !within {
			continue
		}
		for budget, count := range drawn {
			left[budget] -= count
		}
		pool = append(pool, i)
	}
	return pool
}

// prefix returns how many of the workloads, in order, have to leave as a whole for the gang to fit, when all together
// are enough. Those that are alike leave together.
func (s *search) prefix(workloads []int, alike func(a, b int) bool) int {
	var ends []int
	for i := range workloads {
		if i+1 == len(workloads) || !alike(workloads[i], workloads[i+1]) {
			ends = append(ends, i+1)
		}
	}
	low, high := 0, len(ends)-1
	for low < high {
		middle := (low + high) / 2
		if !s.spent() && s.fits(s.leaving(workloads[:ends[middle]])) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return ends[low]
}

func (s *search) starts(pool []int) [][]int {
	starts := [][]int{pool}
	if len(pool) <= 2 {
		return starts
	}
	never := func(int, int) bool { return false }
	upward := slices.SortedFunc(slices.Values(pool), func(a, b int) int {
		return cmp.Or(cmp.Compare(sum(s.workloads[a].devices), sum(s.workloads[b].devices)),
			cmp.Compare(len(s.workloads[a].Pods), len(s.workloads[b].Pods)), s.byImportance(a, b))
	})
	downward := slices.Clone(upward)
	slices.Reverse(downward)
	for _, order := range [][]int{upward, downward} {
		if s.spent() {
			break
		}
		starts = append(starts, order[:s.prefix(order, never)])
	}
	return starts
}

// reprieve lets whoever need not leave stay. The gang fits when these workloads leave as a whole, and fits was asked
// last.
func (s *search) reprieve(d *domain, workloads []int) set {
	inTheWay := slices.DeleteFunc(slices.Clone(workloads), func(i int) bool { return !s.inTheWay(i) })
	taken := s.leaving(inTheWay)
	ordered := slices.SortedFunc(slices.Values(inTheWay), func(a, b int) int { return s.byImportance(b, a) })
	for _, i := range ordered {
		// Whole gangs first, so that few are broken: of each all stay but those that it can do without.
		fewer := taken.with(i, s.dispensable(d, i))
		if !s.spent() && s.fitsStill(taken, fewer, i) {
			taken = fewer
		}
	}
	for _, i := range ordered {
		for _, stay := range s.pieces(taken, i) {
			fewer := taken.with(i, stay(taken[i]))
			if !s.spent() && s.fitsStill(taken, fewer, i) {
				taken = fewer
			}
		}
	}
	return taken
}

// inTheWay reports whether the workload has pods where the gang went when it was last found to fit.
func (s *search) inTheWay(workload int) bool {
	return slices.ContainsFunc(s.workloads[workload].Pods, func(pod Pod) bool { return s.used[pod.Node] })
}

// dispensable returns as many pods of a workload in the domain as can leave without the whole: those where the gang
// would go first, then the youngest.
func (s *search) dispensable(d *domain, workload int) []bool {
	w := s.workloads[workload]
	leaves := make([]bool, len(w.Pods))
	if w.rigid() {
		return leaves
	}
	at, _ := slices.BinarySearchFunc(d.occupants, workload,
		func(t occupant, i int) int { return cmp.Compare(t.workload, i) })
	pods := slices.SortedFunc(slices.Values(d.occupants[at].pods), func(a, b int) int {
		first, second := &w.Pods[a], &w.Pods[b]
		return cmp.Or(gang.CompareBools(s.used[second.Node], s.used[first.Node]), second.Since.Compare(first.Since),
			cmp.Compare(a, b))
	})
	for _, p := range pods {
		more := slices.Clone(leaves)
		more[p] = true
		if !w.Complete(more) {
			leaves = more
		}
	}
	return leaves
}

// pieces returns ways in which a part of those of a workload who leave could stay: subgroups as a whole, then pods, the
// oldest first. None of them leaves a group below its minimum that was not.
func (s *search) pieces(taken set, workload int) []func(leaves []bool) []bool {
	w := s.workloads[workload]
	if w.Tree == nil || taken[workload] == nil || w.rigid() {
		return nil
	}
	stays := func(within func(pod int) bool) func([]bool) []bool {
		return func(leaves []bool) []bool {
			fewer := make([]bool, len(w.Pods))
			for p, leaving := range leaves {
				fewer[p] = leaving && !within(p)
			}
			w.Complete(fewer)
			return fewer
		}
	}
	var pieces []func([]bool) []bool
	for _, group := range w.Tree.Groups()[1:] {
		pieces = append(pieces, stays(func(pod int) bool { return w.within(group, pod) }))
	}
	pods := make([]int, len(w.Pods))
	for p := range pods {
		pods[p] = p
	}
	slices.SortStableFunc(pods, func(a, b int) int { return w.Pods[a].Since.Compare(w.Pods[b].Since) })
	for _, p := range pods {
		pieces = append(pieces, stays(func(pod int) bool { return pod == p }))
	}
	return pieces
}

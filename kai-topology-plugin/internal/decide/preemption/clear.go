package preemption

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// clear returns how the gang fits in a domain; nil if it does not whatever leaves. Whole gangs, and pods without one,
// leave first; then victims are reprieved. That is done from two starting points, and the cheaper outcome is taken.
// Each is as few as are enough of the workloads up to the lowest priority with which the gang fits:
//
//   - the smallest first, so that few devices are lost;
//   - the largest first, so that one gang is broken rather than several small ones.
func (s *search) clear(d *domain) *candidate {
	pool := s.pool(d)
	if pool == nil {
		return nil
	}
	largestFirst := func(a, b int) int { return s.bySize(b, a) }
	starts := slices.CompactFunc([][]int{s.fewest(pool, s.bySize), s.fewest(pool, largestFirst)}, slices.Equal)
	var best *candidate
	for _, start := range starts {
		if best != nil && s.spent() || !s.fits(s.leaving(start)) {
			continue
		}
		taken := s.reprieve(d, start)
		made := &candidate{domain: d, taken: taken, cost: s.costOf(taken)}
		if best == nil || made.compare(best) < 0 {
			best = made
		}
	}
	return best
}

// leaving is the set in which these workloads leave as a whole.
func (s *search) leaving(workloads []int) set {
	taken := set{}
	for _, i := range workloads {
		taken[i] = slices.Repeat([]bool{true}, len(s.workloads[i].Pods))
	}
	return taken
}

// pool returns the workloads that may have to leave, the least important first, up to the lowest priority that is
// enough. It is nil if not even all are.
func (s *search) pool(d *domain) []int {
	all, violating := s.ordered(d)
	if !s.fits(s.leaving(all)) {
		return nil
	}
	return all[:s.prefix(all, func(a, b int) bool {
		return s.workloads[a].Priority == s.workloads[b].Priority && violating[a] == violating[b]
	})]
}

// ordered returns the workloads in a domain, the least important first, and which of them overdraw a
// PodDisruptionBudget after the others have left: these come last, as kube-scheduler reprieves them first.
func (s *search) ordered(d *domain) (workloads []int, violating map[int]bool) {
	for _, t := range d.occupants {
		workloads = append(workloads, t.workload)
	}
	slices.SortFunc(workloads, s.byImportance)
	violating = s.violating(workloads)
	slices.SortStableFunc(workloads, func(a, b int) int { return gang.CompareBools(violating[a], violating[b]) })
	return workloads, violating
}

// byImportance has the least important first. It is kube-scheduler's order of preemption for PodGroups: by priority,
// single pods before gangs, small gangs before large ones, and young ones before old ones.
func (s *search) byImportance(a, b int) int {
	v, w := s.workloads[a], s.workloads[b]
	return cmp.Or(
		cmp.Compare(v.Priority, w.Priority),
		gang.CompareBools(v.Gang, w.Gang),
		cmp.Compare(len(v.Pods), len(w.Pods)),
		w.since.Compare(v.since),
		cmp.Compare(v.Pods[0].ID, w.Pods[0].ID),
	)
}

// violating returns the workloads, in order, that cannot leave as a whole after the others without overdrawing a
// budget.
func (s *search) violating(ordered []int) map[int]bool {
	violating := map[int]bool{}
	left := slices.Clone(s.q.Budgets)
	for _, i := range ordered {
		drawn := map[int]int{}
		for p := range s.workloads[i].Pods {
			for _, budget := range s.workloads[i].Pods[p].Budgets {
				drawn[budget]++
			}
		}
		for budget, count := range drawn {
			violating[i] = violating[i] || count > left[budget]
		}
		if violating[i] {
			continue
		}
		for budget, count := range drawn {
			left[budget] -= count
		}
	}
	return violating
}

// prefix returns the number of workloads, in order, that must leave as a whole for the gang to fit, given that all of
// them suffice. Equal workloads leave together.
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

// fewest returns as few workloads of the pool as are enough, the first by an order, in the order of the pool.
func (s *search) fewest(pool []int, order func(a, b int) int) []int {
	ordered := slices.SortedFunc(slices.Values(pool), order)
	first := sets.New(ordered[:s.prefix(ordered, func(int, int) bool { return false })]...)
	return slices.DeleteFunc(slices.Clone(pool), func(i int) bool { return !first.Has(i) })
}

// bySize has the workload first that holds the fewest devices.
func (s *search) bySize(a, b int) int {
	v, w := s.workloads[a], s.workloads[b]
	return cmp.Or(cmp.Compare(v.held, w.held), cmp.Compare(len(v.Pods), len(w.Pods)), s.byImportance(a, b))
}

// reprieve returns what of these workloads, the least important first, has to leave, with the most important reprieved
// first. The gang fits when they leave as a whole, and fits was asked last.
func (s *search) reprieve(d *domain, workloads []int) set {
	inTheWay := slices.DeleteFunc(slices.Clone(workloads), func(i int) bool { return !s.inTheWay(i) })
	taken := s.leaving(inTheWay)
	ordered := slices.Clone(inTheWay)
	slices.Reverse(ordered)
	for _, i := range ordered {
		// Whole gangs come first, so that few are broken: each keeps all pods but its optional ones.
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

// pieces returns ways in which some victims of a workload could stay: subgroups as a whole, then pods, the oldest
// first. None of them leaves a group below its minimum that was not.
func (s *search) pieces(taken set, workload int) []func(leaves []bool) []bool {
	w := s.workloads[workload]
	if w.Tree == nil || taken[workload] == nil {
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
		pieces = append(pieces, stays(func(pod int) bool { return gang.Within(w.Tree, group.Name, w.Pods[pod].Leaf) }))
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

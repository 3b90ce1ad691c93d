package exact

import (
	"cmp"
	"slices"
)

// chunk is how many patterns of one bin are compared before the least wasteful
// is tried.
const chunk = 24

// bin is a node, or a domain, over which items are distributed.
type bin struct {
	// domain is None for a node, and node for a domain.
	domain, node int
	mark         uint64
	room         Counts
	// usable is what of each resource the items could use here at most.
	usable []int64
}

// distribution is one search: which items go into which bin.
type distribution struct {
	*solver
	bins []bin
	// order has the items, the hardest to place first.
	order []int
	// roomAfter and usableAfter sum the bins from an index on.
	roomAfter   []Counts
	usableAfter [][]int64
	failed      map[string]bool
	parts       []Part
}

// bins are the bins inside a domain: its nodes if there are only pods, else the domains and nodes directly within. Bins
// without room for anything are left out.
func (s *solver) bins(domain int, c Counts) []bin {
	var bins []bin
	nodes := s.in.Domains[domain].All
	if s.grouped(c) {
		nodes = s.in.Domains[domain].Nodes
		for _, child := range s.in.Domains[domain].Children {
			bins = append(bins, bin{domain: child, node: None, mark: s.domainMark[child], room: s.rooms[child]})
		}
	}
	for _, n := range nodes {
		bins = append(bins, bin{domain: None, node: n, mark: s.nodeMark[n], room: s.fits[n]})
	}
	pods := s.pods(c)
	bins = slices.DeleteFunc(bins, func(b bin) bool { return b.size(pods) == 0 })
	slices.SortStableFunc(bins, func(a, b bin) int {
		return cmp.Or(cmp.Compare(a.size(pods), b.size(pods)), cmp.Compare(a.mark, b.mark))
	})
	return bins
}

// size measures a bin by the pods it takes of those wanted.
func (b *bin) size(pods Counts) int {
	size := 0
	for class, n := range pods {
		if n > 0 {
			size += b.room[class]
		}
	}
	return size
}

// distribute places items in the bins.
func (s *solver) distribute(bins []bin, c Counts) ([]Part, bool) {
	d := &distribution{solver: s, bins: bins, failed: map[string]bool{}}
	d.prepare(c)
	s.budget.Steps += len(bins)
	if !d.enough(0, c) {
		return nil, false
	}
	if !s.thorough && (s.grouped(c) || len(bins) > easy) && d.local(c) {
		return d.parts, true
	}
	if !s.within(c, func() bool { return d.search(0, c, nil) }) {
		return nil, false
	}
	slices.Reverse(d.parts)
	return d.parts, true
}

func (d *distribution) prepare(c Counts) {
	pods := d.pods(c)
	for i, n := range c {
		if n > 0 {
			d.order = append(d.order, i)
		}
	}
	slices.SortStableFunc(d.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(min(d.in.Items[b].Level, 0), min(d.in.Items[a].Level, 0)), cmp.Compare(d.volume[b],
			d.volume[a]))
	})
	n := len(d.bins)
	d.roomAfter, d.usableAfter = make([]Counts, n+1), make([][]int64, n+1)
	d.roomAfter[n], d.usableAfter[n] = make(Counts, len(pods)), d.usable(nil, pods)
	for i := n - 1; i >= 0; i-- {
		b := &d.bins[i]
		nodes := []int{b.node}
		if b.domain != None {
			nodes = d.in.Domains[b.domain].All
		}
		b.usable = d.usable(nodes, pods)
		d.roomAfter[i], d.usableAfter[i] = slices.Clone(d.roomAfter[i+1]), slices.Clone(d.usableAfter[i+1])
		for class := range pods {
			d.roomAfter[i][class] += b.room[class]
		}
		for r, usable := range b.usable {
			d.usableAfter[i][r] = plus(d.usableAfter[i][r], usable)
		}
	}
}

// search places what remains in the bins from index at on. limit is the pattern
// of the bin before, when that one is alike: of two bins alike the first gets no
// less, in the order of items.
func (d *distribution) search(at int, rest, limit Counts) bool {
	if empty(rest) {
		return true
	}
	d.budget.Steps++
	if at == len(d.bins) || d.budget.Exhausted() || !d.enough(at, rest) {
		return false
	}
	key := keyOf(uint64(at), rest) + "/" + keyOf(0, limit)
	if d.failed[key] {
		return false
	}
	if d.tryPatterns(at, rest, limit) {
		return true
	}
	if !d.budget.Exhausted() {
		d.failed[key] = true
	}
	return false
}

func (d *distribution) tryPatterns(at int, rest, limit Counts) bool {
	alike := at+1 < len(d.bins) && d.bins[at+1].mark == d.bins[at].mark
	var batch []pattern
	try := func() bool {
		slices.SortStableFunc(batch, func(a, b pattern) int { return cmp.Compare(a.waste, b.waste) })
		for _, p := range batch {
			next := Counts(nil)
			if alike {
				next = p.counts
			}
			if d.search(at+1, minus(rest, p.counts), next) {
				d.parts = append(d.parts, Part{Node: d.bins[at].node, Counts: p.counts, Inner: p.inner})
				return true
			}
		}
		batch = batch[:0]
		return false
	}
	found := d.patterns(at, rest, limit, func(p pattern) bool {
		batch = append(batch, p)
		return len(batch) == chunk && try()
	})
	return found || try()
}

// enough is a bound: whether the bins from an index on have room for the rest,
// class by class and resource by resource.
func (d *distribution) enough(at int, rest Counts) bool {
	pods := d.pods(rest)
	for class, n := range pods {
		if n > d.roomAfter[at][class] {
			return false
		}
	}
	for r, usable := range d.usableAfter[at] {
		if d.need(pods, r) > usable {
			return false
		}
	}
	return true
}

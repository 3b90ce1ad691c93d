package exact

import "slices"

// pattern is what could be put into one bin.
type pattern struct {
	counts Counts
	inner  *Packing
	// waste is the share of usable resources left over, in parts per million.
	waste int64
}

// lister enumerates the patterns of one bin.
type lister struct {
	*distribution
	bin     *bin
	at      int
	rest    Counts
	limit   Counts
	current Counts
	// free is what is left on a node.
	free  []int64
	inner *Packing
	yield func(pattern) bool
}

// patterns calls yield for each part of rest that fits into a bin and leaves no
// room for more of it, from large items to small, until yield returns true.
// Leaving out what could take more is safe: moving an item here from a later bin
// never makes a distribution worse.
func (d *distribution) patterns(at int, rest, limit Counts, yield func(pattern) bool) bool {
	l := &lister{distribution: d, bin: &d.bins[at], at: at, rest: rest, limit: limit, current: make(Counts, len(rest)),
		yield: yield}
	if l.bin.domain == None {
		l.free = slices.Clone(d.in.Free[l.bin.node])
	}
	return l.choose(0)
}

// choose decides how many of the item at a position of the order to put here,
// and those after it.
func (l *lister) choose(position int) bool {
	if l.budget.Exhausted() {
		return false
	}
	if position == len(l.order) {
		return l.finish()
	}
	item, inner := l.order[position], l.inner
	for n := l.most(item); n >= 0 && !l.budget.Exhausted(); n-- {
		l.budget.Steps++
		if !l.add(item, n) {
			continue
		}
		if l.choose(position + 1) {
			return true
		}
		l.remove(item, n)
		l.inner = inner
	}
	return false
}

// most bounds how many of an item fit beside what is here already.
func (l *lister) most(item int) int {
	it := &l.in.Items[item]
	if l.bin.domain == None {
		if it.Level != None || !it.Allowed[l.bin.node] {
			return 0
		}
		return min(l.rest[item], fitting(it.Requests, l.free))
	}
	most := l.rest[item]
	used := l.pods(l.current)
	for class, each := range l.each[item] {
		if each > 0 {
			most = min(most, (l.bin.room[class]-used[class])/each)
		}
	}
	return max(0, most)
}

func (l *lister) add(item, n int) bool {
	l.current[item] += n
	if l.bin.domain == None {
		l.use(item, int64(n))
		return true
	}
	if n == 0 {
		return true
	}
	inner := l.fit(l.bin.domain, l.current)
	if inner == nil {
		l.current[item] -= n
		return false
	}
	l.inner = inner
	return true
}

func (l *lister) remove(item, n int) {
	l.current[item] -= n
	if l.bin.domain == None {
		l.use(item, -int64(n))
	}
}

func (l *lister) use(item int, n int64) {
	if n == 0 {
		return
	}
	for r, amount := range l.in.Items[item].Requests {
		l.free[r] -= n * amount
	}
}

// finish hands on a complete pattern, unless it cannot lead to a solution.
func (l *lister) finish() bool {
	if l.limit != nil && l.above() || !l.enough(l.at+1, minus(l.rest, l.current)) || l.extensible() {
		return false
	}
	p := pattern{counts: slices.Clone(l.current), inner: l.inner, waste: l.waste()}
	if l.bin.domain != None && empty(p.counts) {
		p = pattern{counts: p.counts, inner: &Packing{Domain: l.bin.domain}}
	}
	return l.yield(p)
}

// above reports whether the pattern is larger than the limit, item by item in
// order.
func (l *lister) above() bool {
	for _, item := range l.order {
		if l.current[item] != l.limit[item] {
			return l.current[item] > l.limit[item]
		}
	}
	return false
}

// extensible reports whether one more item would fit.
func (l *lister) extensible() bool {
	for _, item := range l.order {
		if l.current[item] == l.rest[item] {
			continue
		}
		if l.bin.domain == None {
			if it := &l.in.Items[item]; it.Level == None && it.Allowed[l.bin.node] && fitting(it.Requests, l.free) > 0 {
				return true
			}
			continue
		}
		if l.most(item) == 0 {
			continue
		}
		l.current[item]++
		more := l.fit(l.bin.domain, l.current)
		l.current[item]--
		if more != nil {
			return true
		}
	}
	return false
}

func (l *lister) waste() int64 {
	pods := l.pods(l.current)
	waste := int64(0)
	for r, usable := range l.bin.usable {
		if usable > 0 {
			waste += int64(float64(usable-l.need(pods, r)) / float64(usable) * 1e6)
		}
	}
	return waste
}

package exact

import (
	"math/rand/v2"
	"slices"
)

// local is a local search: it fills each bin as well as can be, and then empties a
// few bins and fills them again, for as long as something is left. It solves most
// crowded instances, in which a complete search would wander long.
type local struct {
	*distribution
	// asks is what an item asks for of each resource, opened what is in it where the
	// levels of a bin are provided.
	asks   [][]int64
	opened map[int][]Counts
	// capacity is the volume of each bin.
	capacity []float64
	contents []content
	// left has the items without a bin, missing their volume.
	left    Counts
	missing float64
	random  *rand.Rand
	stop    int
}

const (
	// large is from how many bins times items on a complete search is hopeless, so
	// that the local search may take the whole budget, and not half of it.
	large = 4096
	// localEffort is that for the nodes of one domain meanwhile. fewRounds are enough
	// where a complete search can come to its end: for less than large, and for pods
	// alone on up to crowded nodes; none are needed for up to easy
	// bins.
	localEffort, fewRounds, crowded, easy = 32, 4, 64, 8
	// maxEmptied is up to how many bins are emptied at a time, and maxPool how many
	// of the items left are tried in them.
	maxEmptied = 5
	maxPool    = 12
	// noise is by how much volumes are changed, so that other items come first.
	noise = 0.5
)

// local tries to distribute items; on true the parts are set.
func (d *distribution) local(c Counts) bool {
	l := newLocal(d, c)
	rounds := fewRounds
	if len(d.bins) <= easy {
		rounds = 0
	}
	if len(d.bins)*len(d.order) > large || !d.grouped(c) && len(d.bins) > crowded {
		rounds = 4 * (len(d.order) + len(d.bins))
	}
	// What is given up here is forgotten: it takes nothing from the proof of the search that follows.
	effort, gaveUp := d.effort, d.gaveUp
	d.effort = localEffort
	defer func() {
		if d.effort, d.gaveUp = effort, gaveUp; d.grouped(c) {
			clear(d.solver.failed)
		}
	}()
	l.fillAll()
	for l.missing > 0 && rounds > 0 && !l.tired() {
		l.refill()
		rounds--
	}
	if !empty(l.left) {
		return false
	}
	l.settle()
	return true
}

func newLocal(d *distribution, c Counts) *local {
	l := &local{
		distribution: d, opened: map[int][]Counts{}, contents: make([]content, len(d.bins)), left: slices.Clone(c),
		random: rand.New(rand.NewPCG(uint64(len(c)),
			uint64(len(d.bins)))), stop: d.budget.Limit - (d.budget.Limit-d.budget.Steps)/2,
	}
	if len(d.bins)*len(d.order) > large {
		l.stop = d.budget.Limit
	}
	for item := range c {
		asks := make([]int64, d.resources)
		for r := range asks {
			asks[r] = d.need(d.each[item], r)
		}
		l.asks = append(l.asks, asks)
	}
	for i := range d.bins {
		capacity := 0.0
		for r, usable := range d.bins[i].usable {
			capacity += d.weight[r] * float64(usable)
		}
		l.capacity = append(l.capacity, capacity)
		l.contents[i].used = make([]int64, d.resources)
	}
	for item, n := range c {
		l.missing += float64(n) * l.volume[item]
	}
	return l
}

func (l *local) tired() bool { return l.budget.Steps > l.stop || l.budget.Exhausted() }

// fillAll fills one bin after the other, small ones first.
func (l *local) fillAll() {
	order := l.byVolume(slices.Clone(l.order), 0)
	for at := range l.bins {
		if l.tired() {
			return
		}
		l.budget.Steps += 1 + len(order)/32
		l.contents[at] = l.fill(at, l.left, order)
		l.missing -= l.contents[at].volume
	}
	l.weigh()
}

// weigh sums up what is left anew, without the errors of rounding.
func (l *local) weigh() {
	l.missing = 0
	for item, n := range l.left {
		l.missing += float64(n) * l.volume[item]
	}
}

// refill empties a few bins, fills them again with what was there and some of what
// is left, and keeps that unless more is left then.
func (l *local) refill() {
	items := l.some()
	emptied := l.emptied(items[0])
	if len(emptied) == 0 {
		return
	}
	pool := make(Counts, len(l.left))
	for _, item := range items {
		pool[item]++
		l.left[item]--
	}
	before := make([]content, len(emptied))
	volume := 0.0
	for k, at := range emptied {
		before[k] = l.contents[at]
		volume += before[k].volume
		for _, item := range before[k].items {
			if pool[item]++; !slices.Contains(items, item) {
				items = append(items, item)
			}
		}
	}
	order := l.byVolume(distinct(items), noise)
	after := 0.0
	for _, at := range emptied {
		l.budget.Steps += 4 + len(order)/8
		l.contents[at] = l.fill(at, pool, order)
		after += l.contents[at].volume
	}
	if after < volume*(1-slackError) {
		for k, at := range emptied {
			for _, item := range l.contents[at].items {
				pool[item]++
			}
			for _, item := range before[k].items {
				pool[item]--
			}
			l.contents[at] = before[k]
		}
	}
	for _, item := range distinct(items) {
		l.left[item] += pool[item]
	}
	l.weigh()
}

func distinct(items []int) []int {
	items = slices.Clone(items)
	slices.Sort(items)
	return slices.Compact(items)
}

// some are a few of the items left, a random one first.
func (l *local) some() []int {
	var items []int
	for item, n := range l.left {
		for range n {
			items = append(items, item)
		}
	}
	l.random.Shuffle(len(items), func(a, b int) { items[a], items[b] = items[b], items[a] })
	return items[:min(len(items), maxPool)]
}

// emptied are a few bins, in the order in which they are filled: at first one that
// could take an item alone, then some that could too or have room left.
func (l *local) emptied(item int) []int {
	var bins []int
	want := min(len(l.bins), 2+l.random.IntN(maxEmptied-1))
	for tries := 0; len(bins) < want && tries < 40; tries++ {
		at := l.random.IntN(len(l.bins))
		if other := l.random.IntN(len(l.bins)); len(bins) > 0 && l.slack(other) > l.slack(at) {
			at = other
		}
		if !slices.Contains(bins, at) && (len(bins) > 0 || l.alone(at, item)) {
			bins = append(bins, at)
		}
	}
	l.random.Shuffle(len(bins), func(a, b int) { bins[a], bins[b] = bins[b], bins[a] })
	return bins
}

func (l *local) slack(at int) float64 { return l.capacity[at] - l.contents[at].volume }

// alone is a bound: whether a bin would take an item if it had nothing else.
func (l *local) alone(at, item int) bool {
	b, it := &l.bins[at], &l.in.Items[item]
	if b.domain == None {
		return it.Level == None && l.fits[b.node][item] > 0
	}
	for class, n := range l.each[item] {
		if n > b.room[class] {
			return false
		}
	}
	for r, usable := range b.usable {
		if l.asks[item][r] > usable {
			return false
		}
	}
	return true
}

// layOut reports whether items for which there is enough of each resource in a bin fit into
// it, and how they lie in a domain. On a node, which takes each of them alone, they do.
func (l *local) layOut(b *bin, items []int) (*Packing, bool) {
	if b.domain == None {
		return nil, true
	}
	if l.tired() {
		return nil, false
	}
	sum := make(Counts, l.in.Classes)
	for _, item := range items {
		for k, n := range l.openedIn(b.domain)[item] {
			if k >= len(sum) {
				sum = append(sum, make(Counts, len(l.in.Items)-len(sum))...)
			}
			sum[k] += n
		}
	}
	inner := l.fitOpen(b.domain, sum)
	return inner, inner != nil
}

// openedIn is what is in each item where the level of a domain is provided.
func (l *local) openedIn(domain int) []Counts {
	level := l.in.Domains[domain].Level
	if l.opened[level] == nil {
		one := make(Counts, len(l.in.Items))
		for item := range l.in.Items {
			one[item] = 1
			l.opened[level] = append(l.opened[level], l.open(one, level))
			one[item] = 0
		}
	}
	return l.opened[level]
}

// settle takes what is in the bins over as the distribution.
func (l *local) settle() {
	for i := range l.contents {
		if len(l.contents[i].items) == 0 {
			continue
		}
		counts := make(Counts, len(l.left))
		for _, item := range l.contents[i].items {
			counts[item]++
		}
		l.parts = append(l.parts, Part{Node: l.bins[i].node, Counts: counts, Inner: l.contents[i].inner})
	}
}

package exact

import (
	"cmp"
	"slices"
)

const (
	// maxTried bounds the sets of items that are looked at to fill one bin, and
	// maxChecked how many of them are laid out in it.
	maxTried   = 160
	maxChecked = 6
	// slackError is what of a bin may stay free in a full one, by rounding.
	slackError = 1e-9
)

// content is what is in one bin during a local search.
type content struct {
	items []int
	// used is what is asked for of each resource, volume the same by weight.
	used   []int64
	volume float64
	inner  *Packing
}

// filling looks for the items that leave least of one bin free: large ones first,
// each set as far as it goes.
type filling struct {
	*local
	bin *bin
	// candidates are items in the order in which they are tried.
	candidates []int
	have       Counts
	now        content
	best       content
	capacity   float64
	tried      int
	checked    int
}

// fill takes items out of a pool into an empty bin. O(maxTried · candidates).
func (l *local) fill(at int, pool Counts, order []int) content {
	f := &filling{local: l, bin: &l.bins[at], have: pool, capacity: l.capacity[at]}
	f.now.used, f.best.volume = make([]int64, l.resources), -1
	for _, item := range order {
		if pool[item] > 0 && l.alone(at, item) {
			f.candidates = append(f.candidates, item)
		}
	}
	f.try(0)
	if f.best.volume < f.capacity*(1-slackError) {
		f.oneByOne()
	}
	for _, item := range f.best.items {
		pool[item]--
	}
	return f.best
}

// try adds candidates from one on, and reports whether the bin is full.
func (f *filling) try(from int) bool {
	f.tried++
	ended := true
	for i := from; i < len(f.candidates) && f.tried < maxTried; i++ {
		item := f.candidates[i]
		if f.have[item] == 0 || !f.holds(item) {
			continue
		}
		ended = false
		f.add(item)
		full := f.try(i)
		f.drop(item)
		if full {
			return true
		}
	}
	return ended && f.judge()
}

// holds is a bound: whether there is as much of each resource left as an item asks
// for.
func (f *filling) holds(item int) bool {
	for r, usable := range f.bin.usable {
		if f.asks[item][r] > usable-f.now.used[r] {
			return false
		}
	}
	return true
}

func (f *filling) add(item int) {
	f.have[item]--
	f.now.items = append(f.now.items, item)
	f.now.volume += f.volume[item]
	for r, amount := range f.asks[item] {
		f.now.used[r] += amount
	}
}

func (f *filling) drop(item int) {
	f.have[item]++
	f.now.items = f.now.items[:len(f.now.items)-1]
	f.now.volume -= f.volume[item]
	for r, amount := range f.asks[item] {
		f.now.used[r] -= amount
	}
}

// judge keeps the items there are now if they are the best so far and fit, and
// reports whether the bin is full of them.
func (f *filling) judge() bool {
	if f.now.volume <= f.best.volume*(1+slackError) || f.checked >= maxChecked {
		return false
	}
	inner, ok := f.layOut(f.bin, f.now.items)
	if f.bin.domain != None {
		f.checked++
	}
	if !ok {
		return false
	}
	f.best = content{items: slices.Clone(f.now.items), used: slices.Clone(f.now.used), volume: f.now.volume, inner: inner}
	return f.best.volume >= f.capacity*(1-slackError)
}

// oneByOne fills the bin by adding items that fit together with those before, large
// ones first, as many of each as it can.
func (f *filling) oneByOne() {
	if f.bin.domain == None || len(f.candidates) == 0 {
		return
	}
	f.now = content{used: make([]int64, f.resources)}
	inner, failed := (*Packing)(nil), 0
	for _, item := range f.candidates {
		for n := f.have[item]; n > 0 && failed < maxChecked; {
			added := 0
			for ; added < n && f.have[item] > 0 && f.holds(item); added++ {
				f.add(item)
			}
			if added == 0 {
				break
			}
			if laid, ok := f.layOut(f.bin, f.now.items); ok {
				inner = laid
				continue
			}
			for range added {
				f.drop(item)
			}
			failed++
			n = added / 2
		}
	}
	if f.now.volume > f.best.volume {
		f.best = content{items: slices.Clone(f.now.items), used: f.now.used, volume: f.now.volume, inner: inner}
	}
	for _, item := range f.now.items {
		f.have[item]++
	}
}

// byVolume sorts items, large ones first, as far as noise lets it.
func (l *local) byVolume(items []int, noise float64) []int {
	key := make(map[int]float64, len(items))
	for _, item := range items {
		key[item] = l.volume[item] * (1 + noise*l.random.Float64())
	}
	slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(key[b], key[a]) })
	return items
}

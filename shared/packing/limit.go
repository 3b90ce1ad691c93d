package packing

import (
	"cmp"
	"slices"
)

// limit is what a search lets into the domains of a relation. Each is a maximum, so
// that what is too much stays too much whatever follows. As many items in each domain
// is a maximum too, once it is known how many items and domains there are: with room
// for no more items than come, all of it is used.
type limit struct {
	// bound says that the search follows the relation.
	bound bool
	// most is how many items each domain may have, by rank, and slack how many may be
	// beyond that altogether.
	most  []int
	slack int
	// fresh is how many domains without items may get some.
	fresh int
	// over are the items beyond most, and opened the domains that got their first ones.
	over, opened int
}

// unlimited is more items than there are.
const unlimited = 1 << 30

// attempt is a limit to try.
type attempt struct{ most, slack, fresh int }

// excess is how many items, or domains, are too many.
func (l *limit) excess() int {
	if !l.bound {
		return 0
	}
	return max(0, l.over-l.slack) + max(0, l.opened-l.fresh)
}

// room is how many more items a domain takes without slack.
func (r *relation) room(rank int32) int { return r.most[rank] - r.count[rank] }

// takes is how many more items may come into a domain now.
func (r *relation) takes(rank int32) int {
	if r.count[rank] == 0 && r.opened >= r.fresh {
		return 0
	}
	return max(0, r.room(rank)) + max(0, r.slack-r.over)
}

// bind has searches keep to a limit. Nothing may be on trial.
func (r *relation) bind(to attempt) {
	r.bound, r.slack, r.fresh, r.over, r.opened = true, to.slack, to.fresh, 0, 0
	for rank, items := range r.base {
		r.most[rank] = max(items, to.most)
		if r.near != nil && !r.near[rank] {
			r.most[rank] = items
		}
	}
}

// unbind has searches keep to what required relations say by themselves: to maxima.
func (p *problem) unbind() {
	for at := range p.relations {
		r := &p.relations[at]
		most := r.source.Max
		if r.near != nil || r.source.Even {
			most = unlimited
		}
		r.bind(attempt{most: most, fresh: unlimited})
		r.bound = !r.source.Preferred
	}
	p.excess = 0
	p.seek()
}

// preferred lists the preferred relations.
func (p *problem) preferred() []int {
	var list []int
	for at := range p.relations {
		if p.relations[at].source.Preferred {
			list = append(list, at)
		}
	}
	return list
}

// maxAttempts is how many limits of relations are tried together.
const maxAttempts = 64

// bounded binds relations to one limit after the other that the pods of a selection
// may keep to, until try succeeds. They stay bound then, and are unbound otherwise.
func (d *decision) bounded(relations []int, s *selection, try func() bool) bool {
	left := maxAttempts
	if d.bind(relations, s, &left, try) {
		return true
	}
	d.p.unbind()
	return false
}

func (d *decision) bind(relations []int, s *selection, left *int, try func() bool) bool {
	if len(relations) == 0 {
		*left--
		d.p.seek()
		return try()
	}
	for _, to := range d.p.attempts(relations[0], s, d.spread) {
		if *left <= 0 || d.Exhausted() {
			return false
		}
		d.p.relations[relations[0]].bind(to)
		if d.bind(relations[1:], s, left, try) {
			return true
		}
	}
	return false
}

// opening has relations use some of the domains without items, as many as they may,
// the roomiest first, until try succeeds.
func (d *decision) opening(relations []int, try func() bool) bool {
	if len(relations) == 0 {
		return try()
	}
	r := &d.p.relations[relations[0]]
	empty := d.p.empty(r)
	if len(empty) <= r.fresh {
		return d.opening(relations[1:], try)
	}
	most := slices.Clone(r.most)
	for _, rank := range empty {
		r.most[rank] = 0
	}
	opened := d.open(relations, empty, r.fresh, most, try)
	copy(r.most, most)
	return opened
}

// open is opening for so many of some domains, of which each may have most items.
func (d *decision) open(relations []int, empty []int32, domains int, most []int, try func() bool) bool {
	if d.Steps++; domains == 0 || d.Exhausted() {
		return !d.Exhausted() && d.opening(relations[1:], try)
	}
	r := &d.p.relations[relations[0]]
	for k := 0; k+domains <= len(empty); k++ {
		r.most[empty[k]] = most[empty[k]]
		if d.open(relations, empty[k+1:], domains-1, most, try) {
			return true
		}
		r.most[empty[k]] = 0
	}
	return false
}

// empty are the domains without items that take a pod, the roomiest first.
func (p *problem) empty(r *relation) []int32 {
	t := p.cluster.Topologies[r.slot]
	var empty []int32
	room := map[int32]int64{}
	for rank, at := range t.RankedDomains(r.level) {
		if r.base[rank] > 0 {
			continue
		}
		for kind := range p.shapes {
			room[int32(rank)] += p.capacity(region{place: place{r.slot, at}}, kind)
		}
		if room[int32(rank)] > 0 {
			empty = append(empty, int32(rank))
		}
	}
	slices.SortStableFunc(empty, func(a, b int32) int { return cmp.Compare(room[b], room[a]) })
	return empty
}

// attempts are the limits by which a preferred relation holds for a selection, those first
// that use fewest domains, or most to spread; then those by which it nearly does.
func (p *problem) attempts(at int, s *selection, spread bool) []attempt {
	r := &p.relations[at]
	items, most := p.entering(at, s), r.source.Max
	switch {
	case r.near != nil:
		most = unlimited
	case r.source.Even:
		return p.evenAttempts(at, items, spread)
	}
	list := []attempt{{most: most, fresh: unlimited}}
	for slack := 1; slack < items; slack *= 2 {
		list = append(list, attempt{most, slack, unlimited})
	}
	return list
}

// evenAttempts are those of a relation that leaves open how many items each domain
// has: with so many items to come, as many each in so many domains.
func (p *problem) evenAttempts(at, items int, spread bool) []attempt {
	r := &p.relations[at]
	all, used, high := items, 0, slices.Max(append(r.base, 0))
	for _, standing := range r.base {
		all += standing
		used += min(1, standing)
	}
	var list []attempt
	for each := all; each >= max(1, high); each-- {
		if all%each == 0 && all/each >= used {
			list = append(list, attempt{most: each, fresh: all/each - used})
		}
	}
	if spread {
		slices.Reverse(list)
	}
	if uneven := used*high - (all - items); uneven > 0 {
		list = append(list, attempt{most: high, fresh: (uneven+all)/high - used})
	}
	if all == 0 {
		list = append(list, attempt{most: unlimited, fresh: unlimited})
	}
	var nearly []attempt
	lacks := func(a attempt) int { return (used+a.fresh)*a.most - all }
	for each := max(1, high); each <= all && each < maxAttempts; each++ {
		if a := (attempt{most: each, fresh: max(0, (all+each-1)/each-used)}); lacks(a) > 0 {
			nearly = append(nearly, a)
		}
	}
	slices.SortStableFunc(nearly, func(a, b attempt) int { return cmp.Compare(lacks(a), lacks(b)) })
	return append(list, nearly...)
}

// entering is how many items of a relation pods of a selection bring into domains, if
// each that stands nowhere comes into one.
func (p *problem) entering(at int, s *selection) int {
	r, items := &p.relations[at], 0
	for _, item := range r.items {
		pods := p.total(s.want, item)
		switch {
		case r.source.PerPod:
			items += pods
		case pods > 0 && !p.standing(at, item):
			items++
		}
	}
	return items
}

// standing reports whether an item has pods that run, or others that it joins.
func (p *problem) standing(at, item int) bool {
	for rank := range p.relations[at].base {
		if p.relations[at].stood[itemIn{int32(at), int32(item), int32(rank)}] > 0 {
			return true
		}
	}
	return false
}

package problem

import (
	"cmp"
	"slices"
)

// limit is what a search lets into the domains of a relation. Each is a maximum, so
// that what is too much stays too much whatever follows. As many items in each domain
// is a maximum too, once it is known how many items and domains there are: with room
// for no more items than come, all of it is used.
type limit struct {
	// Bound says that the search follows the relation.
	Bound bool
	// Most is how many items each domain may have, by rank, and slack how many may be
	// beyond that altogether.
	Most  []int
	slack int
	// Fresh is how many domains without items may get some.
	Fresh int
	// over are the items beyond most, and opened the domains that got their first ones.
	over, opened int
}

// Unlimited is more items than there are.
const Unlimited = 1 << 30

// attempt is a limit to try.
type attempt struct{ most, slack, fresh int }

// excess is how many items, or domains, are too many.
func (l *limit) excess() int {
	if !l.Bound {
		return 0
	}
	return max(0, l.over-l.slack) + max(0, l.opened-l.Fresh)
}

// Room is how many more items a domain takes without slack.
func (r *RelationCount) Room(rank int32) int { return r.Most[rank] - r.count[rank] }

// Full reports whether a domain took as many items before as it may have.
func (r *RelationCount) Full() bool {
	return slices.ContainsFunc(r.base, func(items int) bool { return items >= r.Source.Max })
}

// takes is how many more items may come into a domain now.
func (r *RelationCount) takes(rank int32) int {
	if r.count[rank] == 0 && r.opened >= r.Fresh {
		return 0
	}
	return max(0, r.Room(rank)) + max(0, r.slack-r.over)
}

// Bind has searches keep to a limit. Nothing may be on trial.
func (r *RelationCount) Bind(to attempt) {
	r.Bound, r.slack, r.Fresh, r.over, r.opened = true, to.slack, to.fresh, 0, 0
	for rank, items := range r.base {
		r.Most[rank] = max(items, to.most)
		if r.Near != nil && !r.Near[rank] {
			r.Most[rank] = items
		}
	}
}

// Unbind has searches keep to what required relations say by themselves: to maxima.
func (p *Problem) Unbind() {
	for at := range p.Relations {
		r := &p.Relations[at]
		most := r.Source.Max
		if r.Near != nil || r.Source.Even {
			most = Unlimited
		}
		r.Bind(attempt{most: most, fresh: Unlimited})
		r.Bound = !r.Source.Preferred
	}
	p.Excess = 0
	p.Seek()
}

// Preferred lists the preferred relations.
func (p *Problem) Preferred() []int {
	var list []int
	for at := range p.Relations {
		if p.Relations[at].Source.Preferred {
			list = append(list, at)
		}
	}
	return list
}

// MaxAttempts is how many limits of relations are tried together.
const MaxAttempts = 64

// Empty are the domains without items that take a pod, the roomiest first.
func (p *Problem) Empty(r *RelationCount) []int32 {
	t := p.Cluster.Topologies[r.Slot]
	var empty []int32
	room := map[int32]int64{}
	for rank, at := range t.RankedDomains(r.Level) {
		if r.base[rank] > 0 {
			continue
		}
		for kind := range p.Shapes {
			room[int32(rank)] += p.Capacity(Region{Place: Place{r.Slot, at}}, kind)
		}
		if room[int32(rank)] > 0 {
			empty = append(empty, int32(rank))
		}
	}
	slices.SortStableFunc(empty, func(a, b int32) int { return cmp.Compare(room[b], room[a]) })
	return empty
}

// Attempts are the limits by which a preferred relation holds for a selection, those first
// that use fewest domains, or most to spread; then those by which it nearly does.
func (p *Problem) Attempts(at int, s *Selection, spread bool) []attempt {
	r := &p.Relations[at]
	items, most := p.entering(at, s), r.Source.Max
	switch {
	case r.Near != nil:
		most = Unlimited
	case r.Source.Even:
		return p.evenAttempts(at, items, spread)
	}
	list := []attempt{{most: most, fresh: Unlimited}}
	for slack := 1; slack < items; slack *= 2 {
		list = append(list, attempt{most, slack, Unlimited})
	}
	return list
}

// evenAttempts are those of a relation that leaves open how many items each domain
// has: with so many items to come, as many each in so many domains.
func (p *Problem) evenAttempts(at, items int, spread bool) []attempt {
	r := &p.Relations[at]
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
		list = append(list, attempt{most: Unlimited, fresh: Unlimited})
	}
	var nearly []attempt
	deficit := func(a attempt) int { return (used+a.fresh)*a.most - all }
	for each := max(1, high); each <= all && each < MaxAttempts; each++ {
		if a := (attempt{most: each, fresh: max(0, (all+each-1)/each-used)}); deficit(a) > 0 {
			nearly = append(nearly, a)
		}
	}
	slices.SortStableFunc(nearly, func(a, b attempt) int { return cmp.Compare(deficit(a), deficit(b)) })
	return append(list, nearly...)
}

// entering is how many items of a relation pods of a selection bring into domains, if
// each that stands nowhere comes into one.
func (p *Problem) entering(at int, s *Selection) int {
	r, items := &p.Relations[at], 0
	for _, item := range r.Items {
		pods := p.Total(s.Want, item)
		switch {
		case r.Source.PerPod:
			items += pods
		case pods > 0 && !p.standing(at, item):
			items++
		}
	}
	return items
}

// standing reports whether an item has pods that run, or others that it joins.
func (p *Problem) standing(at, item int) bool {
	for rank := range p.Relations[at].base {
		if p.Relations[at].stood[ItemIn{int32(at), int32(item), int32(rank)}] > 0 {
			return true
		}
	}
	return false
}

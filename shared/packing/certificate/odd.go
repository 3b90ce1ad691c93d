package certificate

import (
	"fmt"
	"slices"
)

// odd reports whether no number of items that may come leaves domains with what they have
// to have, or lacking no more than before.
//
// Where that is an exact number, say d items are lacking in domains that have some, and k come: no more than d into
// those, and n for each of u further ones at most. What is lacking then is d+u·n-k, which
// is to be at most d: u·n <= k <= u·n+d, and so k mod n <= d.
func (v *verifier) odd(s *state, rule int, o *Odd) (bool, error) {
	at := slices.IndexFunc(v.relations, func(r *relation) bool { return r.source.Name == o.Relation })
	if at < 0 {
		return false, fmt.Errorf("relation %q is not in the input", o.Relation)
	}
	r := v.relations[at]
	if s.goal != 0 || !r.source.Even || r.source.Near != nil || !v.together(r) {
		return false, nil
	}
	by, err := v.read(&Measure{Relation: o.Relation})
	if err != nil {
		return false, err
	}
	least, possible := v.need(s, 0, by)
	if !possible {
		return false, nil // That is for few to say.
	}
	most := int64(0)
	for _, item := range r.items {
		for leaf := item; leaf < v.end[item] && r.source.PerPod; leaf++ {
			for _, some := range v.pending[leaf] {
				most += some.pods
			}
		}
		most += by.group[item]
	}
	if r.source.Max == 0 {
		return v.uneven(s, rule, o, r, by, least, most)
	}
	// Of any each numbers in a row one is a multiple.
	each, lacks := int64(r.source.Max), missing(r.base, int64(r.source.Max))
	for k := least; k <= most && k-least < each; k++ {
		if v.spend(1); k%each <= lacks {
			return false, nil
		}
	}
	v.note(rule, figures{first: least, second: most})
	return true, nil
}

// uneven is odd where any number will do that is the same for all domains with items.
func (v *verifier) uneven(s *state, rule int, o *Odd, r *relation, by *scale, least, most int64) (bool, error) {
	if by.group != nil {
		m := &Measure{Topology: r.source.Topology, Level: r.source.Level, Groups: map[string]int64{}, By: o.By}
		for item := range by.group {
			m.Groups[v.in.Groups[item].Name] = 1
		}
		if len(m.Groups) == 0 {
			return false, nil
		}
		var err error
		if by, err = v.read(m); err != nil {
			return false, err
		}
	}
	room := make([]int64, len(r.base))
	v.offers(s, by, func(node int, items int64) {
		if domain := r.division.of[node]; domain >= 0 {
			room[domain] = min(plus(room[domain], items), most)
		}
	})
	f := figures{first: least, second: most}
	for domain, takes := range room {
		if has := r.base[domain] + takes; has > 0 {
			f.domains++
			f.each = max(f.each, has)
		}
	}
	if v.fillsUp(r.base, room, least, most) || v.evens(r.base, room, least, most) {
		return false, nil
	}
	v.note(rule, f)
	return true, nil
}

// fillsUp reports whether a number of items from least to most may come without any domain
// getting more than the fullest has, n, and with no more lacking than before: u domains
// that had none lack what comes short of u·n, and the others do without as much.
func (v *verifier) fillsUp(base, room []int64, least, most int64) bool {
	var takes int64
	var fresh []int64
	n := slices.Max(append([]int64{0}, base...))
	for domain, has := range base {
		if has > 0 {
			takes += min(n-has, room[domain])
		} else {
			fresh = append(fresh, min(n, room[domain]))
		}
	}
	slices.Sort(fresh)
	slices.Reverse(fresh)
	v.spend(len(base))
	for u := 0; u <= len(fresh) && n > 0; u++ {
		if max(least, int64(u)*n) <= min(most, takes) {
			return true
		}
		if u < len(fresh) {
			takes += fresh[u]
		}
	}
	return least <= 0
}

// evens reports whether a number of items from least to most may come such that each domain
// that has any has as many, and more than the fullest had.
func (v *verifier) evens(base, room []int64, least, most int64) bool {
	before := slices.Max(append([]int64{0}, base...))
	for n := before + 1; n <= before+most; n++ {
		v.spend(1 + len(base)/16)
		come, fresh := int64(0), int64(0)
		for domain, has := range base {
			switch {
			case has > 0 && has+room[domain] < n:
				come = most + 1
			case has > 0:
				come += n - has
			case room[domain] >= n:
				fresh++
			}
		}
		if come > most {
			return false // More in each would take more yet.
		}
		if u := (max(0, least-come) + n - 1) / n; u <= fresh && come+u*n <= most {
			return true
		}
	}
	return false
}

// together reports whether each item of a relation, but for pods, requires a level by which it
// stands in one domain, and stands nowhere else or there.
func (v *verifier) together(r *relation) bool {
	return r.source.PerPod || !slices.ContainsFunc(r.items, func(item int) bool {
		return !v.requires(item, r.source.Topology, r.depth)
	})
}

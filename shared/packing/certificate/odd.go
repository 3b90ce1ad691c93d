package certificate

import (
	"fmt"
	"slices"
)

// odd reports whether no number of items that may come leaves domains with what they have
// to have, or lacking no more than before.
//
// Say d items are lacking in domains that have some, and k come: no more than d into
// those, and n for each of u further ones at most. What is lacking then is d+u·n-k, which
// is to be at most d: u·n <= k <= u·n+d, and so k mod n <= d.
func (v *verifier) odd(s *state, rule int, o *Odd) (bool, error) {
	at := slices.IndexFunc(v.relations, func(r *relation) bool { return r.source.Name == o.Relation })
	if at < 0 {
		return false, fmt.Errorf("relation %q is not in the input", o.Relation)
	}
	r := v.relations[at]
	if s.goal != 0 || !r.source.Even || r.source.Max == 0 || r.source.Near != nil || !v.together(r) {
		return false, nil
	}
	by, err := v.scaleOf(&Measure{Relation: o.Relation})
	if err != nil {
		return false, err
	}
	least, possible := v.need(s, 0, by)
	if !possible {
		return false, nil // That is for few to say.
	}
	most, each, lacks := int64(0), int64(r.source.Max), missing(r.base, int64(r.source.Max))
	for _, item := range r.items {
		for leaf := item; leaf < v.end[item] && r.source.PerPod; leaf++ {
			for _, some := range v.pending[leaf] {
				most += some.pods
			}
		}
		most += by.group[item]
	}
	// Of any each numbers in a row one is a multiple.
	for k := least; k <= most && k < least+each; k++ {
		if v.spend(1); k%each <= lacks {
			return false, nil
		}
	}
	v.note(rule, figures{first: least, second: most})
	return true, nil
}

// together reports whether each item of a relation, but for pods, requires a level by which it
// stands in one domain, and stands nowhere else or there.
func (v *verifier) together(r *relation) bool {
	for _, item := range r.items {
		if !r.source.PerPod && (len(r.source.Joined) > 0 || !v.requires(item, r.source.Topology, r.depth)) {
			return false
		}
	}
	return true
}

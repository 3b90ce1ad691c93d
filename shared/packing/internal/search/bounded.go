package search

import (
	"slices"

	"packtree.dev/shared/packing/internal/problem"
)

// bounded binds relations to one limit after the other that the pods of a selection
// may keep to, until try succeeds. They stay bound then, and are unbound otherwise.
func (d *Search) bounded(relations []int, s *problem.Selection, try func() bool) bool {
	left := problem.MaxAttempts
	if d.bind(relations, s, &left, try) {
		return true
	}
	d.P.Unbind()
	return false
}

func (d *Search) bind(relations []int, s *problem.Selection, left *int, try func() bool) bool {
	if len(relations) == 0 {
		*left--
		d.P.Seek()
		return try()
	}
	for _, to := range d.P.Attempts(relations[0], s, d.Spread) {
		if *left <= 0 || d.Exhausted() {
			return false
		}
		d.P.Relations[relations[0]].Bind(to)
		if d.bind(relations[1:], s, left, try) {
			return true
		}
	}
	return false
}

// opening has relations use some of the domains without items, as many as they may,
// the roomiest first, until try succeeds.
func (d *Search) opening(relations []int, try func() bool) bool {
	if len(relations) == 0 {
		return try()
	}
	r := &d.P.Relations[relations[0]]
	empty := d.P.Empty(r)
	if len(empty) <= r.Fresh {
		return d.opening(relations[1:], try)
	}
	most := slices.Clone(r.Most)
	for _, rank := range empty {
		r.Most[rank] = 0
	}
	opened := d.open(relations, empty, r.Fresh, most, try)
	copy(r.Most, most)
	return opened
}

// open is opening for each choice of that many empty domains; most bounds the items in each domain.
func (d *Search) open(relations []int, empty []int32, domains int, most []int, try func() bool) bool {
	if d.Steps++; domains == 0 || d.Exhausted() {
		return !d.Exhausted() && d.opening(relations[1:], try)
	}
	r := &d.P.Relations[relations[0]]
	for k := 0; k+domains <= len(empty); k++ {
		r.Most[empty[k]] = most[empty[k]]
		if d.open(relations, empty[k+1:], domains-1, most, try) {
			return true
		}
		r.Most[empty[k]] = 0
	}
	return false
}

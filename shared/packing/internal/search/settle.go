package search

import (
	"packtree.dev/shared/packing/internal/exact"
)

// settle settles what searches left open, if it comes to its end.
func (d *Search) settle() {
	if d.P.Partial {
		return
	}
	e := &exact.Exhaustive{
		Trial: d.Trial, Placed: make([]int, len(d.P.Groups)), Domain: make([]int32, len(d.P.Groups)), Most: d.P.Least(0),
	}
	if !e.ListWays() {
		return
	}
	if d.Verdict == Placed {
		e.Chosen, e.Found, e.Most = d.Chosen, d.Found, d.P.Total(d.Chosen.Want, 0)
		e.Best = d.P.QualityOf(d.Found)
	}
	d.P.Unbind()
	before := d.Limit
	d.Limit = d.Steps + exact.ExhaustiveSteps
	e.From(0, 0, 0)
	ended := !d.Exhausted()
	d.Limit = before
	switch {
	case e.Chosen != nil:
		d.Verdict, d.Optimal, d.Chosen, d.Found = Placed, ended, e.Chosen, e.Found
	case ended:
		d.Verdict = Infeasible
	}
}

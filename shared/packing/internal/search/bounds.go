package search

import (
	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/problem"
)

// holds is a bound: whether a region may have room for what is selected of a group.
func holds(t *problem.Trial, s *problem.Selection, group int, r problem.Region) bool {
	holds := bound.Holds(t.P, s, group, r)
	t.Charge()
	return holds
}

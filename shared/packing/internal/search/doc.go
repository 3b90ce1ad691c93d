// Package search looks for a place for a gang.
//
//	search.go      the stages in their order; for the minima bounds first, then
//	               greedily, enumeration last
//	placer.go      the hardest group first, in the tightest domain; passes.go finds
//	               that, strategies.go has others, fill.go places pods
//	selected.go    which pods: all of a selection; prefer.go for preferred levels,
//	               units.go and shares.go for what their domains take
//	minima.go      which pods: just enough for the minima, chosen by what is left
//	improve.go     what comes after the minima, goal by goal; grow.go for further pods
//	shift.go       pods with few nodes, moved as along a path of a matching
//	bounded.go     one limit of relations after the other
package search

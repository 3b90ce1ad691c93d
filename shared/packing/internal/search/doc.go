// Package search looks for a place for a gang.
//
//	search.go      the stages in their order; for the minima bounds first, then
//	               greedily, enumeration last
//	strategies.go  how the greedy search chooses domains
//	greedy.go      the hardest group first, in the tightest domain; fill.go for
//	               pods, prefer.go for preferred levels, shares.go for what domains
//	               take of the rest, grow.go for further pods
//	minima.go      just enough pods for the minima, chosen by what is left
//	shift.go       pods with few nodes, moved as along a path of a matching
//	improve.go     fewer preferred units, and less that preferred relations lack
//	bounded.go     one limit of relations after the other
package search

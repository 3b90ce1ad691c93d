// Package exact packs items into bins: a complete search over patterns, with a
// local search before it for instances that are crowded.
//
// Items are pods, and groups of items that need one domain of a level to
// themselves or to share. Bins are nodes, and domains of one tree. A pattern says
// how many of each item go into one bin. Equal pods and equal groups are one item,
// and bins that look alike are not told apart, so that the search is small
// although the problem is strongly NP-hard.
//
//	instance.go    what is to be packed; Solve
//	bounds.go      what cannot fit, by sums
//	solver.go      one domain after the other, down to nodes; what failed is kept
//	distribute.go  which part goes into which bin; patterns.go lists the parts
//	quick.go       pods on the nodes of a domain, without search
//	local.go       bins filled as well as can be, and a few of them emptied and
//	               filled again as long as something is left; fill.go fills one
//
// A gang on a cluster becomes such an instance:
//
//	snapshot.go    the nodes; instances.go what is selected of the gang
//	encoding.go    relations, as pods and nodes
//	optimise.go    the fewest preferred units, proved
//	exhaustive.go  all ways, where there are few of them
package exact

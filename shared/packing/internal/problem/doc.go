// Package problem is the gang on the cluster: its groups, kinds of pods and relations as
// indices, what is on trial, and what a placement costs.
//
//	gang.go        what is asked: a tree of groups, constraints, minima, anchors
//	problem.go     groups in preorder, levels as indices
//	kinds.go       kinds of pods: shapes that neither filters nor amounts tell apart
//	table.go       numbers by group and kind, for the kinds that a group has
//	anchors.go     what running members and followed pods fix
//	classes.go     groups that differ in their names only
//	selection.go   which pods are to be placed; selections.go lists the choices
//	region.go      sets of nodes: a domain, cut with domains of other topologies
//	minimum.go     what satisfies each group at least
//	relation.go    what counts as an item where; limit.go how many may come, admit.go
//	               what a domain lets in by that, deficit.go how far a placement is
//	               from what relations say
//	goals.go       what a placement costs; ledger.go placements by group
//	trial.go       placing on the live counts, and taking it back; widen.go counts
//	               more nodes for kinds that are counted in part
package problem

// Package counts keeps how many pods of each shape fit on every node and in every
// domain of every topology, incrementally, so that a decision costs what it looks at.
//
//	resources.go   integer amounts, one table for all nodes
//	path.go        a domain's name; topology.go the tree of domains of one topology
//	cluster.go     nodes and the pods on them; everywhere.go what all nodes offer
//	undo.go        checkpoint and rollback
//	shape.go       what a pod asks for; filter.go which nodes filters leave to pods
//	shapes.go      how many pods of a shape fit; sparse.go where few nodes are left
//	changes.go     the log by which the counts of a shape catch up
//	ranks.go       dense counts of a level, to find the tightest domain
//	occupied.go    the domains that some nodes occupy
package counts

// Package packing decides where every pod of a gang goes, so that each group of
// the gang stays inside one domain of a topology where it must, and inside as
// few domains as possible where it would like to.
//
// The package reads like a chapter, one idea a file:
//
//	resources.go  integer amounts that saturate instead of overflowing
//	path.go       a domain's name: label values from the broadest level down
//	gang.go       what is asked: a tree of groups, constraints, minima, anchors
//	decision.go   what is answered: a verdict, assignments, domains, reasons
//	topology.go   the tree of domains of one topology
//	cluster.go    nodes and the pods on them
//	undo.go       checkpoint and rollback
//
// # Use
//
// Fill a Cluster with SetTopology, SetNode and Assign, keep it up to date with
// the same calls, and ask Decide. Decide changes nothing; a caller who likes the
// answer calls Assign for each assignment. What-if questions are asked between
// Checkpoint and Rollback.
//
// # Concurrency
//
// A Cluster has one user at a time: no method, and not Decide either, may run
// while another runs on the same Cluster. There are no package variables that
// change, so distinct Clusters are independent. Nothing here starts a goroutine,
// reads a clock or logs.
package packing

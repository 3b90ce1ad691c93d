// Package packing decides where every pod of a gang goes, so that each group of
// the gang stays inside one domain of a topology where it must, and inside as
// few domains as possible where it would like to.
//
// The package is the interface; what decides is in packages whose imports go one way:
//
//	internal/counts    what fits where: topologies, nodes, filters, counts by shape
//	internal/problem   the gang on the cluster, and what is on trial
//	internal/bound     relaxations, whose "no" is a proof
//	internal/exact     exhaustive search: over patterns, and over all ways
//	internal/search    the order of goals, and the greedy search
//	internal/refute    the question for package certificate, and the proof
//	internal/explain   the answer, and why pods have no node
//
// # Exactness
//
// Placed is always right, since it is carried out. Infeasible is given only with a
// certificate, which is looked for when a relaxation failed, a complete search ended
// without result, or nothing was found; Terse decisions do without it. Everything
// else is Unknown. The problem is strongly NP-hard, so the search has a budget; it
// counts steps, and equal questions to equal clusters get equal answers. (Groups
// and nodes that look alike are recognised by 64-bit hashes.) Ties go to the
// domain whose path, and the node whose name, sorts first.
//
// # Bounds
//
// What nodes offer is clamped to MaxAmount, and a gang that asks for more a pod is
// Invalid; the pods of one shape on one node and the pending pods of a gang are
// bounded by 2^20. Every loop of the search counts its steps, what it writes down
// is bounded too, and placing each pod once is not charged to the budget. Dense
// counts are kept for so many kinds at most; the pods of further kinds get some of
// the nodes that they could use, and what does not fit there is Unknown. So do those
// of further filters once these were asked maxQuestions times. No input
// makes the package panic, but a Shape.Excluded that calls the Cluster back may.
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

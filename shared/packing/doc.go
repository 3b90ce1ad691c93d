// Package packing decides the node of every pod of a gang, so that each group of the gang stays inside one domain of a
// topology where it must, and inside as few domains as possible where it prefers to.
//
// The package is the interface; the decisions are made in packages with one-way imports:
//
//	internal/counts    what fits where: topologies, nodes, filters, counts by shape
//	internal/problem   the gang on the cluster, and what is on trial
//	internal/bound     relaxations: what they refuse is proved not to fit
//	internal/exact     exhaustive search: over patterns, and over all ways
//	internal/search    the order of goals, and the greedy search
//	internal/refute    the question for package certificate, and the proof
//	internal/explain   the answer, and why pods have no node
//
// # Exactness
//
// Placed is always right, since it is carried out. Infeasible always has a certificate, except in Terse decisions. The
// certificate is looked for when a relaxation fails, a complete search ends without result, or nothing is found. Every
// other answer is Unknown. The problem is strongly NP-hard, so the search has a budget; it counts steps, and equal
// questions to equal clusters get equal answers. (Groups and nodes that look alike are recognised by 64-bit hashes.)
// Ties go to the domain with the first path in sorted order, and to the node with the first name.
//
// # Bounds
//
// The amounts that nodes offer are clamped to MaxAmount. A gang that requests more for one pod is Invalid. The pods of
// one shape on one node and the pending pods of a gang are bounded by 2^20. Every loop of the search counts its steps,
// and its records are bounded too; placing each pod once is not charged to the budget. A bounded number of kinds has
// dense counts. The pods of further kinds get some of the nodes that they could use; pods that do not fit there are
// Unknown. The same holds for further filters after maxQuestions evaluations. No input makes the package panic, except
// a Shape.Excluded that calls the Cluster.
//
// # Use
//
// Fill a Cluster with SetTopology, SetNode and Assign, keep it up to date with the same calls, and call Decide. Decide
// changes nothing: to carry out an answer, call Assign for each assignment. What-if questions are asked between
// Checkpoint and Rollback.
//
// # Concurrency
//
// A Cluster has one user at a time: no method, Decide included, may run while another runs on the same Cluster. There
// are no package variables that change, so distinct Clusters are independent. Nothing here starts a goroutine, reads a
// clock or logs.
package packing

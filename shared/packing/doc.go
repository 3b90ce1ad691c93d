// Package packing decides where every pod of a gang goes, so that each group of
// the gang stays inside one domain of a topology where it must, and inside as
// few domains as possible where it would like to.
//
// The package reads like a chapter, one idea a file:
//
// The model:
//
//	cluster.go     nodes and the pods on them; internal/counts keeps what fits where
//	gang.go        what is asked: a tree of groups, constraints, minima, anchors
//	decision.go    what is answered: a verdict, assignments, domains, reasons
//
// The question, translated:
//
//	problem.go     groups in preorder, levels as indices
//	kinds.go       kinds of pods: shapes that neither filters nor amounts tell apart
//	table.go       numbers by group and kind, for the kinds that a group has
//	anchors.go     what running members and followed pods fix
//	classes.go     groups that differ in their names only
//	selection.go   which pods are to be placed; selections.go lists the choices
//	region.go      sets of nodes: a domain, cut with domains of other topologies
//	minimum.go     what satisfies each group at least
//	relation.go    what counts as an item where; limit.go what a search lets in,
//	               lacks.go how far a placement is from what relations say
//
// Bounds, whose "no" is a proof:
//
//	relax.go       what the minima need at least, against what each domain offers
//	offers.go      what the nodes of a domain offer at most
//	fewest.go      how many preferred units the pods need at least; units.go counts
//	               them for pods of one kind
//	bounds.go      the same for one selection, quickly
//
// The search:
//
//	decide.go      the order of goals: minima, further pods, preferred levels; for
//	               the minima bounds first, then greedily, enumeration last
//	trial.go       placing on the live counts, and taking it back; widen.go has more
//	               nodes counted for kinds of which not all were
//	greedy.go      the hardest group first, in the tightest domain; fill.go for
//	               pods, prefer.go for preferred levels, shares.go for what domains
//	               take of the rest, grow.go for further pods
//	reach.go       just enough pods for the minima, chosen by what is left
//	shift.go       pods with few nodes, moved as along a path of a matching
//	snapshot.go    the nodes, and items.go the selection, as an instance of package
//	               internal/exact: local search, then complete search over patterns
//	optimise.go    the fewest preferred units, proved; goals.go has the cost
//	every.go       all ways, where there are relations and few ways
//
// The answer:
//
//	answer.go      assignments and domains
//	model.go       the question for package certificate, which internal/refute has
//	               prove it; input.go writes it down for others
//	proved.go      a certificate in words
//	explain.go     why further pods have no node; sentences.go says it
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

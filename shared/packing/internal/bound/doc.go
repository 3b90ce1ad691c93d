// Package bound refuses what cannot fit, and tells what a placement costs at least: its
// "no" is a proof.
//
//	relax.go       what the minima need at least, against what each domain offers
//	offers.go      what the nodes of a domain offer at most
//	fewest.go      how many preferred units the pods need at least; units.go counts
//	               them for pods of one kind
//	bounds.go      the same for one selection, quickly
package bound

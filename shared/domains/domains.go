// Package domains holds the vocabulary of topology: the seven domains that users name in their constraints, and
// their order from the largest network distance to the smallest.
package domains

import "slices"

// Domain is an infrastructure-neutral name for one level of a cluster's topology. Which node label identifies it in a
// given cluster is the business of a ClusterTopology.
type Domain = string

// The domains that a constraint may name.
const (
	Region     Domain = "region"
	Zone       Domain = "zone"
	Datacenter Domain = "datacenter"
	Block      Domain = "block"
	Rack       Domain = "rack"
	Host       Domain = "host"
	Numa       Domain = "numa"
)

var broadestFirst = []Domain{Region, Zone, Datacenter, Block, Rack, Host, Numa}

// All returns the domains, broadest first. The slice is the caller's.
func All() []Domain {
	return slices.Clone(broadestFirst)
}

// Known reports whether d is one of the seven domains.
func Known(d Domain) bool {
	return rank(d) >= 0
}

// Narrower reports whether a lies strictly below b, as a rack lies below a zone. An unknown domain is neither narrower
// nor broader than any other.
func Narrower(a, b Domain) bool {
	return Known(a) && Known(b) && rank(a) > rank(b)
}

// Broader reports whether a lies strictly above b.
func Broader(a, b Domain) bool {
	return Narrower(b, a)
}

// Compare orders domains broadest first, for use with slices.SortFunc. Unknown domains come before known ones.
func Compare(a, b Domain) int {
	return rank(a) - rank(b)
}

func rank(d Domain) int {
	return slices.Index(broadestFirst, d)
}

// Package domains has the domains of a ClusterTopology in their order, and compares domains in a given order.
package domains

import "slices"

// Domain is an infrastructure-neutral name for one level of a cluster's topology. A ClusterTopology or
// ClusterTopologyBinding says which node label it has in a cluster.
type Domain = string

// The domains of a ClusterTopology.
const (
	Region     Domain = "region"
	Zone       Domain = "zone"
	Datacenter Domain = "datacenter"
	Block      Domain = "block"
	Rack       Domain = "rack"
	Host       Domain = "host"
	Numa       Domain = "numa"
)

// Order is a list of domains, the one of the largest network distance first.
type Order []Domain

// All returns the domains of a ClusterTopology, broadest first. The slice is the caller's.
func All() Order {
	return Order{Region, Zone, Datacenter, Block, Rack, Host, Numa}
}

// OrderOf is the order of domains of any string type, broadest first. Of repeated domains the first one counts.
func OrderOf[T ~string](broadestFirst []T) Order {
	order := make(Order, 0, len(broadestFirst))
	for _, domain := range broadestFirst {
		if !order.Known(string(domain)) {
			order = append(order, string(domain))
		}
	}
	return order
}

// Known reports whether d is one of the domains.
func (o Order) Known(d Domain) bool {
	return slices.Contains(o, d)
}

// Narrower reports whether a lies strictly below b, as a rack lies below a zone. An unknown domain is neither narrower
// nor broader than any other.
func (o Order) Narrower(a, b Domain) bool {
	return o.Known(a) && o.Known(b) && o.Compare(a, b) > 0
}

// Broader reports whether a lies strictly above b.
func (o Order) Broader(a, b Domain) bool {
	return o.Narrower(b, a)
}

// Within returns the domains that are not broader than d. The slice is the caller's.
func (o Order) Within(d Domain) Order {
	return slices.Clone(o[max(slices.Index(o, d), 0):])
}

// Compare orders domains broadest first, for use with slices.SortFunc. Unknown domains come before known ones.
func (o Order) Compare(a, b Domain) int {
	return slices.Index(o, a) - slices.Index(o, b)
}

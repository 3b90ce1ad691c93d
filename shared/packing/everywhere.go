package packing

import "slices"

// OfferEverywhere makes each node, also one that comes later, offer so much of a
// resource besides what is its own; 0 ends that. An amount of 1 keeps pods that
// ask for 1 off each other's nodes. O(nodes), and the counts of shapes that ask
// for the resource start anew.
func (c *Cluster) OfferEverywhere(resource string, amount int64) {
	column := c.resources.column(resource)
	amount = min(max(amount, 0), MaxAmount)
	before := c.offeredEverywhere(column)
	if amount == before {
		return
	}
	c.undo.add(func(c *Cluster) { c.OfferEverywhere(resource, before) })
	c.everywhere = slices.DeleteFunc(c.everywhere, func(q quantity) bool { return q.resource == column })
	if amount > 0 {
		c.everywhere = append(c.everywhere, quantity{column, amount})
	}
	for i := range c.nodes {
		if c.nodes[i].present {
			c.resources.row(int32(i))[column] += amount - before
		}
	}
	c.shapes.invalidateAsking(column)
}

func (c *Cluster) offeredEverywhere(column int) int64 {
	for _, q := range c.everywhere {
		if q.resource == column {
			return q.amount
		}
	}
	return 0
}

// Resources is how many names of resources the cluster ever met. Each takes
// some bytes a node for good.
func (c *Cluster) Resources() int { return len(c.resources.names) }

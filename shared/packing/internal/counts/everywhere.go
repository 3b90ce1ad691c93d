package counts

import (
	"slices"
)

// OfferEverywhere makes each node offer so much of a resource besides what is its own.
func (c *Cluster) OfferEverywhere(resource string, amount int64) {
	column := c.resources.column(resource)
	amount = min(max(amount, 0), MaxAmount)
	before := c.offeredEverywhere(column)
	if amount == before {
		return
	}
	c.undo.add(func(c *Cluster) { c.OfferEverywhere(resource, before) })
	c.everywhere = slices.DeleteFunc(c.everywhere, func(q Quantity) bool { return q.Resource == column })
	if amount > 0 {
		c.everywhere = append(c.everywhere, Quantity{column, amount})
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
		if q.Resource == column {
			return q.Amount
		}
	}
	return 0
}

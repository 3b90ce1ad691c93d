package counts

// Free is how much of a resource is free on a node.
func (c *Cluster) Free(nodeName, resource string) int64 {
	i, known := c.nodeIndex[nodeName]
	if !known || !c.nodes[i].present {
		return 0
	}
	column, known := c.resources.index[resource]
	if !known {
		return 0
	}
	return max(0, c.resources.row(i)[column])
}

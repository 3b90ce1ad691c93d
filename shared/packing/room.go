package packing

// Room is how many pods of one shape fit into a domain if nothing else is placed.
type Room struct {
	// Path is nil for the whole cluster.
	Path Path
	// Pods also counts nodes that are in none of the domains within.
	Pods int64
	// Within are the domains one level down, by value.
	Within []Room
}

// Room gives the room for pods of a shape in the whole cluster and in each domain of a
// topology; there are none of one that is unknown. No node counts for more than maxFit.
// O(domains), and what it takes to bring the counts of the shape up to date.
func (c *Cluster) Room(shape *Shape, topology string) Room {
	s := c.look(shape, false)
	c.countAll(s)
	return c.roomIn(s, c.topologyIndex[topology], whole)
}

func (c *Cluster) roomIn(s *shapeCounts, slot int, at int32) Room {
	d := &c.topologies[slot].domains[at]
	room := Room{Path: d.path, Pods: s.sums[slot][at]}
	for _, child := range d.children {
		room.Within = append(room.Within, c.roomIn(s, slot, child))
	}
	return room
}

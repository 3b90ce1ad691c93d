package counts

// Room is how many pods of one shape fit into a domain if nothing else is placed.
type Room struct {
	// Path is nil for the whole cluster.
	Path Path
	// Pods also counts nodes that are in none of the domains within.
	Pods int64
	// Within are the domains one level down, by value.
	Within []Room
}

// Room gives the room for pods of a shape in each domain of a topology.
func (c *Cluster) Room(shape *Shape, topology string) Room {
	s := c.ShapeOf(shape, false)
	c.countAll(s)
	return c.roomIn(s, c.topologyIndex[topology], Whole)
}

func (c *Cluster) roomIn(s *ShapeCounts, slot int, at int32) Room {
	d := &c.Topologies[slot].Domains[at]
	room := Room{Path: d.Path, Pods: s.Sums[slot][at]}
	for _, child := range d.Children {
		room.Within = append(room.Within, c.roomIn(s, slot, child))
	}
	return room
}

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

// UnitRooms appends how many pods of a shape each unit of a level takes inside a domain: the domains of the
// level, and the nodes that are in none. O(units).
func (s *ShapeCounts) UnitRooms(slot int, t *Topology, at int32, level int, rooms []int64) []int64 {
	d := &t.Domains[at]
	for _, node := range d.Nodes {
		rooms = append(rooms, int64(s.Fit[node]))
	}
	for _, child := range d.Children {
		if d.Level+1 == level {
			rooms = append(rooms, s.Sums[slot][child])
		} else {
			rooms = s.UnitRooms(slot, t, child, level, rooms)
		}
	}
	return rooms
}

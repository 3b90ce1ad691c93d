package zones

// Size is how much a Catalogue remembers besides its changes.
func (c *Catalogue) Size() int { return len(c.nodes) + len(c.holds) + len(c.avoided) + len(c.outdated) }

// Node is that of a Usage.
func (u *Usage) Node() *Node { return u.node }

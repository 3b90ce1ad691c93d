package zones

// Size is how much a Catalogue remembers besides its changes.
func (c *Catalogue) Size() int {
	held := 0
	for _, pods := range c.holds {
		held += len(pods)
	}
	return len(c.nodes) + len(c.holds) + held + len(c.places) + len(c.avoided) + len(c.owners)
}

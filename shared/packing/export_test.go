package packing

import "packtree.dev/shared/packing/certificate"

// Input is the question that a decision is about, for tests that verify it.
func (c *Cluster) Input(gang *Gang) *certificate.Input { return c.input(gang) }

package packing

// Decide answers whether and where a gang can run on the cluster as it is. It
// leaves the cluster unchanged.
func (c *Cluster) Decide(gang *Gang, options Options) Decision {
	return Decision{Verdict: Unknown}
}

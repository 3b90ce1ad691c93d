package spares

// Level sums up the domains of one level of a Topology.
type Level struct {
	Topology, Level string
	// Wanted are nodes that are to be spares, and There those of them that there are.
	Wanted, There int
	// Domains counts the domains, and Short those that have fewer than they are to have.
	Domains, Short int
}

// Levels sums up domains, in their order.
func (k Kept) Levels() (levels []Level) {
	for i := range k {
		d := &k[i]
		if last := len(levels) - 1; last < 0 || levels[last].Topology != d.Topology || levels[last].Level != d.Level() {
			levels = append(levels, Level{Topology: d.Topology, Level: d.Level()})
		}
		sum := &levels[len(levels)-1]
		sum.Wanted += d.Nodes
		sum.There += len(d.Kept())
		sum.Domains++
		if len(d.There) < d.Nodes {
			sum.Short++
		}
	}
	return levels
}

// Package oracle judges decisions of package packing on small instances: it tries
// every way to give each pod a node or none, by the rules for gangs alone, without
// any of the engine's code. Draw makes the instances.
package oracle

import "packtree.dev/shared/packing"

// Scene is a small cluster and gang, kept as plain data.
type Scene struct {
	// Topologies have levels by name.
	Topologies map[string][]string
	Nodes      []packing.Node
	// Excluded says by shape key and node what filters exclude.
	Excluded map[string]map[string]bool
	Gang     packing.Gang
	// Useless is a number of further nodes that no pod can use. They make the
	// cluster large for the engine, and change no answer.
	Useless int
}

// Build makes the cluster.
func (s *Scene) Build() *packing.Cluster {
	c := packing.NewCluster()
	for name, levels := range s.Topologies {
		if err := c.SetTopology(name, levels); err != nil {
			panic(err)
		}
	}
	for _, n := range s.Nodes {
		c.SetNode(n)
	}
	for i := range s.Useless {
		c.SetNode(packing.Node{Name: "useless-" + number(i)})
	}
	return c
}

func number(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return number(i/10) + string(rune('0'+i%10))
}

package packing

import "packtree.dev/shared/packing/certificate"

// Input is the question that Decide is asked, written down for everybody.
func (c *Cluster) Input(gang *Gang) *certificate.Input {
	var nodes []certificate.Node
	for i := range c.nodes {
		if !c.nodes[i].present {
			continue
		}
		n := certificate.Node{Name: c.nodes[i].name, Free: map[string]int64{}, Domains: map[string][]string{}}
		for column, free := range c.resources.row(int32(i))[:len(c.resources.names)] {
			n.Free[c.resources.names[column]] = free
		}
		for name := range c.levels() {
			n.Domains[name] = c.PathOf(name, n.Name)
		}
		nodes = append(nodes, n)
	}
	return InputOf(gang, c.levels(), nodes)
}

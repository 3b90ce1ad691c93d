package packing

import (
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/refute"
)

// Input is the question that Decide is asked, written down for everybody.
func (c *Cluster) Input(gang *problem.Gang) *certificate.Input {
	var nodes []certificate.Node
	for i := range int32(c.state.Rows()) {
		name := c.state.NodeName(i)
		if _, present := c.state.Find(name); !present {
			continue
		}
		n := certificate.Node{Name: name, Free: map[string]int64{}, Domains: map[string][]string{}}
		for column, free := range c.state.FreeOn(i)[:len(c.state.ResourceNames())] {
			n.Free[c.state.ResourceNames()[column]] = free
		}
		for name := range c.state.Levels() {
			n.Domains[name] = c.state.PathOf(name, n.Name)
		}
		nodes = append(nodes, n)
	}
	return refute.InputOf(gang, c.state.Levels(), nodes)
}

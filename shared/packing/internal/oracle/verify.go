package oracle

import (
	"errors"
	"fmt"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// The faults that package certificate finds.
const (
	Unproved   Fault = "no certificate"
	WrongProof Fault = "a certificate that proves nothing"
	Rejected   Fault = "a placement that is rejected"
)

// Question is a scene in the words of package certificate, read from its labels
// and amounts.
func (s *Scene) Question() *certificate.Input {
	var nodes []certificate.Node
	for _, n := range s.Nodes {
		node := certificate.Node{Name: n.Name, Free: n.Allocatable, Domains: map[string][]string{}}
		for name, levels := range s.Topologies {
			for _, level := range levels {
				value, has := n.Labels[level]
				if !has {
					break
				}
				node.Domains[name] = append(node.Domains[name], value)
			}
		}
		nodes = append(nodes, node)
	}
	for i := range s.Useless {
		nodes = append(nodes, certificate.Node{Name: "useless-" + number(i)})
	}
	return packing.InputOf(&s.Gang, s.Topologies, nodes)
}

// Verify has package certificate judge a decision.
func Verify(s *Scene, d *packing.Decision) (Fault, error) {
	switch d.Verdict {
	case packing.Infeasible:
		if d.Certificate == nil {
			return Unproved, errors.New(d.Message())
		}
		if err := certificate.Verify(s.Question(), d.Certificate); err != nil {
			return WrongProof, fmt.Errorf("%s: %w", d.Message(), err)
		}
	case packing.Placed:
		nodes := map[string]string{}
		for _, a := range d.Assignments {
			nodes[a.Pod] = a.Node
		}
		if errs := certificate.Check(s.Question(), nodes); len(errs) > 0 {
			return Rejected, errors.Join(errs...)
		}
	default:
	}
	return "", nil
}

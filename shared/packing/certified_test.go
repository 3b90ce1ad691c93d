package packing_test

import (
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// question is a scene as package certificate wants it, read from its labels and
// amounts.
func (s *scene) question() *certificate.Input {
	var nodes []certificate.Node
	for _, n := range s.nodes {
		node := certificate.Node{Name: n.Name, Free: n.Allocatable, Domains: map[string][]string{}}
		for name, levels := range s.topologies {
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
	return packing.InputOf(&s.gang, s.topologies, nodes)
}

func TestEachAnswerIsVerified(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		d := s.build().Decide(&s.gang, packing.Options{Certify: true})
		verifyAnswer(t, s.question(), d)
	})
}

func verifyAnswer(t *rapid.T, in *certificate.Input, d packing.Decision) {
	if (d.Certificate != nil) != (d.Verdict == packing.Infeasible) {
		t.Fatalf("%s (%s) has the certificate %+v", d.Verdict, d.Message(), d.Certificate)
	}
	switch d.Verdict {
	case packing.Infeasible:
		if err := certificate.Verify(in, d.Certificate); err != nil {
			t.Fatalf("%s: %v", d.Message(), err)
		}
	case packing.Placed:
		nodes := map[string]string{}
		for _, a := range d.Assignments {
			nodes[a.Pod] = a.Node
		}
		if errs := certificate.Check(in, nodes); len(errs) > 0 {
			t.Fatalf("%v: %v", nodes, errs)
		}
	default:
	}
}

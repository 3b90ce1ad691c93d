package packing_test

import (
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/oracle"
)

func TestEachAnswerIsVerified(t *testing.T) {
	for name, size := range map[string]oracle.Size{"small": oracle.Small, "varied": oracle.Varied} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := oracle.Draw(numbers{t}, size)
				d := s.Build().Decide(&s.Gang, packing.Options{Certify: true})
				if fault, err := oracle.Verify(s, &d); fault != "" {
					t.Fatalf("%s: %v", fault, err)
				}
			})
		})
	}
}

func TestNoOrdinaryAnswerHasACertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		if d := s.Build().Decide(&s.Gang, packing.Options{}); d.Certificate != nil {
			t.Fatalf("%s has a certificate that nobody asked for", d.Verdict)
		}
		d := s.Build().Decide(&s.Gang, packing.Options{Certify: true})
		if d.Verdict != packing.Infeasible && d.Certificate != nil {
			t.Fatalf("%s has a certificate", d.Verdict)
		}
	})
}

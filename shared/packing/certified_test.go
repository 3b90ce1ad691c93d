package packing_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/oracle"
)

func TestEachAnswerIsVerified(t *testing.T) {
	for name, size := range map[string]oracle.Size{"small": oracle.Small, "varied": oracle.Varied} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := oracle.Draw(numbers{t}, size)
				d := s.Build().Decide(&s.Gang, packing.Options{})
				if fault, err := oracle.Verify(s, &d); fault != "" {
					t.Fatalf("%s: %v", fault, err)
				}
			})
		})
	}
}

func TestOnlyWhatIsRefusedWithWordsHasACertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		if d := s.Build().Decide(&s.Gang, packing.Options{Terse: true}); d.Certificate != nil {
			t.Fatalf("a terse %s has a certificate", d.Verdict)
		}
		if d := s.Build().Decide(&s.Gang, packing.Options{}); (d.Verdict == packing.Infeasible) != (d.Certificate != nil) {
			t.Fatalf("%s, certificate %v", d.Verdict, d.Certificate)
		}
	})
}

// largestCertificate is what 95 of 100 certificates stay within, and those of the
// rows all do.
const largestCertificate = 4 << 10

func TestGangsOfManyKindsAreProvedNotToFit(t *testing.T) {
	for name, build := range rows {
		r := build(t)
		if r.want != packing.Infeasible {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := r.cluster.Decide(r.gang, packing.Options{})
			if d.Certificate == nil {
				t.Fatalf("no certificate: %s", d.Message())
			}
			if err := certificate.Verify(r.cluster.Input(r.gang), d.Certificate); err != nil {
				t.Fatal(err)
			}
			written, err := json.Marshal(d.Certificate)
			if err != nil {
				t.Fatal(err)
			}
			if len(written) > largestCertificate {
				t.Errorf("the certificate has %d bytes: %.300s", len(written), written)
			}
		})
	}
}

// BenchmarkVerify measures the check of a certificate.
func BenchmarkVerify(b *testing.B) {
	for _, name := range sortedRows() {
		r := rows[name](b)
		if r.want != packing.Infeasible {
			continue
		}
		b.Run(name, func(b *testing.B) {
			d := r.cluster.Decide(r.gang, packing.Options{})
			if d.Certificate == nil {
				b.Fatal(d.Message())
			}
			written, err := json.Marshal(d.Certificate)
			if err != nil {
				b.Fatal(err)
			}
			in := r.cluster.Input(r.gang)
			start := cpuTime()
			for b.Loop() {
				if err := certificate.Verify(in, d.Certificate); err != nil {
					b.Fatal(err)
				}
			}
			reportCPU(b, start)
			b.ReportMetric(float64(len(written)), "bytes")
		})
	}
}

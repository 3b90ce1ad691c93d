package packing_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
				fault, err := oracle.Verify(s, &d)
				require.Empty(t, fault, "%v", err)
			})
		})
	}
}

func TestOnlyWhatIsRefusedWithWordsHasACertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		d := s.Build().Decide(&s.Gang, packing.Options{Terse: true})
		require.Nil(t, d.Certificate, "a terse %s has a certificate", d.Verdict)
		unproved := s.Build().Decide(&s.Gang, packing.Options{Unproved: true})
		told := unproved.Verdict == packing.Placed && unproved.Groups[0].Waiting > 0
		if unproved.Certificate != nil || unproved.Verdict != packing.Invalid && told != (len(unproved.Explanations) > 0) {
			t.Fatalf("an unproved %+v", unproved)
		}
		if d := s.Build().Decide(&s.Gang, packing.Options{}); (d.Verdict == packing.Infeasible) != (d.Certificate != nil) {
			t.Fatalf("%s, certificate %v", d.Verdict, d.Certificate)
		}
	})
}

// The first rule that holds may depend on rules that the certificate can do without.
func TestACertificateIsThatOfWhatItKeeps(t *testing.T) {
	c := packing.NewCluster()
	for name, levels := range map[string][]string{"a": {"zone", "rack"}, "b": {"fabric", "rail"}} {
		require.NoError(t, c.SetTopology(name, levels))
	}
	for i, n := range []struct {
		zone, rack, fabric, rail string
		cpu, gpu                 int64
	}{
		{"1", "0", "1", "1", 6, 3}, {"0", "1", "0", "1", 6, 3}, {"1", "0", "0", "0", 2, 0}, {"1", "", "1", "1", 1, 4},
		{"1", "1", "0", "1", 5, 1}, {"1", "0", "0", "1", 3, 3}, {"0", "1", "1", "1", 1, 3}, {"", "", "0", "0", 3, 2},
		{"1", "1", "1", "0", 5, 3},
	} {
		labels := map[string]string{"zone": n.zone, "rack": n.rack, "fabric": n.fabric, "rail": n.rail}
		maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
		c.SetNode(packing.Node{Name: fmt.Sprint("node-", i), Labels: labels,
			Allocatable: packing.Resources{"cpu": n.cpu, "gpu": n.gpu}})
	}
	barred := packing.Shape{Key: "pod", Requests: packing.Resources{"cpu": 2, "gpu": 1},
		Excluded: func(node string) string { return map[string]string{"node-3": "a taint"}[node] }}
	inner := leaf("inner", 4, barred, packing.Constraint{Topology: "a", Required: "rack"})
	idle := packing.Group{Name: "idle", MinSubGroups: least(1), Children: []packing.Group{{Name: "deeper",
		MinSubGroups: least(0), Children: []packing.Group{{Name: "deepest", Constraint: inner.Constraint}}}}}
	gang := &packing.Gang{Root: packing.Group{Name: "outer", Constraint: packing.Constraint{Topology: "b",
		Required: "rail"}, Children: []packing.Group{inner, idle}}}
	d := c.Decide(gang, packing.Options{})
	require.NotNil(t, d.Certificate, "%s without a certificate", d.Verdict)
	assert.NoError(t, certificate.Verify(c.Input(gang), d.Certificate))
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
			require.NotNil(t, d.Certificate, "no certificate: %s", d.Message())
			require.NoError(t, certificate.Verify(r.cluster.Input(r.gang), d.Certificate))
			written, err := json.Marshal(d.Certificate)
			require.NoError(t, err)
			assert.LessOrEqual(t, len(written), largestCertificate,
				"the certificate has %d bytes: %.300s", len(written), written)
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
			require.NotNil(b, d.Certificate, d.Message())
			written, err := json.Marshal(d.Certificate)
			require.NoError(b, err)
			in := r.cluster.Input(r.gang)
			start := cpuTime()
			for b.Loop() {
				require.NoError(b, certificate.Verify(in, d.Certificate))
			}
			reportCPU(b, start)
			b.ReportMetric(float64(len(written)), "bytes")
		})
	}
}

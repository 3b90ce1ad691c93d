package packing_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// found is a case that once took long, or was answered badly, with its answer and how many pods are placed at least.
type found struct {
	Verdict packing.Verdict `json:"verdict"`
	Placed  int             `json:"placed"`
	Case    hostileCase     `json:"case"`
}

func hostileCases(tb testing.TB) map[string]found {
	tb.Helper()
	written, err := os.ReadFile("testdata/hostile.json")
	require.NoError(tb, err)
	var list []found
	require.NoError(tb, json.Unmarshal(written, &list))
	cases := map[string]found{}
	for i, f := range list {
		cases[fmt.Sprint(i, " ", f.Verdict)] = f
	}
	return cases
}

func TestHostileGangsHaveAnAnswer(t *testing.T) {
	for name, f := range hostileCases(t) {
		t.Run(name, func(t *testing.T) {
			c, gang := f.Case.Cluster(), f.Case.Gang()
			d := c.Decide(gang, packing.Options{})
			if d.Verdict != f.Verdict || d.Steps > packing.DefaultBudget {
				t.Errorf("%s after %d steps, want %s: %s", d.Verdict, d.Steps, f.Verdict, d.Message())
			}
			assert.GreaterOrEqual(t, len(d.Assignments), f.Placed, "pods are placed: %s", d.Message())
			if d.Verdict != packing.Placed {
				return
			}
			nodes := map[string]string{}
			for _, a := range d.Assignments {
				nodes[a.Pod] = a.Node
			}
			for _, err := range certificate.Check(c.Input(gang), nodes) {
				t.Error(err)
			}
		})
	}
}

package packing_test

import (
	"math"
	"testing"

	"packtree.dev/shared/packing"
)

// Amounts of memory in bytes may be large; a sum that cannot be exact is refused.
func TestLargeAmountsAreExact(t *testing.T) {
	const peta = int64(1e15)
	for name, tc := range map[string]struct {
		node, each int64
		pods       int
		verdict    packing.Verdict
	}{
		"two of 3P on 8P":        {8 * peta, 3 * peta, 2, packing.Placed},
		"three of 3P on 8P":      {8 * peta, 3 * peta, 3, packing.Infeasible},
		"two of 500P on 1000P":   {1000 * peta, 500 * peta, 2, packing.Placed},
		"more than is summed":    {math.MaxInt64, packing.MaxAmount + 1, 1, packing.Invalid},
		"as much as is summed":   {packing.MaxAmount, packing.MaxAmount, 1, packing.Placed},
		"one more than there is": {8 * peta, 8*peta + 1, 1, packing.Infeasible},
	} {
		t.Run(name, func(t *testing.T) {
			d := (site{"z/a": {tc.node}}).cluster(t).Decide(&packing.Gang{Root: leaf("g", tc.pods, shape(tc.each), at("rack"))}, packing.Options{})
			if d.Verdict != tc.verdict {
				t.Errorf("%s: %s", d.Verdict, d.Message())
			}
		})
	}
}

// Counts beyond what fits into 32 bits, and filters that leave no node, are answered.
func TestInputThatCannotFitIsNamed(t *testing.T) {
	nowhere := shape(1)
	nowhere.Key, nowhere.Excluded = "nowhere", func(string) string { return "a selector" }
	for name, tc := range map[string]struct {
		root    packing.Group
		verdict packing.Verdict
		message string
	}{
		"filters leave no node": {
			leaf("g", 1, nowhere, packing.Constraint{}), packing.Infeasible,
			`group "g": 0 of 1 pods fit into the cluster; 1 node excluded by a selector`,
		},
		"a minimum beyond 32 bits": {
			packing.Group{Name: "g", MinMember: math.MaxInt, Pending: leaf("g", 1, shape(1), at("")).Pending}, packing.Incomplete,
			`group "g" has 1 of the 9223372036854775807 pods it needs`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := (site{"z/a": {4}}).cluster(t).Decide(&packing.Gang{Root: tc.root}, packing.Options{})
			if d.Verdict != tc.verdict || d.Message() != tc.message {
				t.Errorf("%s: %s", d.Verdict, d.Message())
			}
		})
	}
}

// What a gang with many kinds of pods leaves in the memory of the cluster is bounded.
func TestMemoriesOfKindsShrink(t *testing.T) {
	c := farm(t, 300, packing.Resources{"device": 4})
	for _, pods := range []int{200, 5000} {
		c.Decide(&packing.Gang{Root: claims("g", pods, pods, packing.Constraint{})}, packing.Options{})
	}
	c.Decide(&packing.Gang{Root: leaf("g", 1, shape(1), packing.Constraint{})}, packing.Options{})
	if n := len(c.Shapes()); n > 4096 {
		t.Errorf("%d shapes are remembered", n)
	}
}

package packing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// racksUsed are the racks of a placement, each once, sorted.
func racksUsed(d *packing.Decision) []string {
	var racks []string
	for _, a := range d.Assignments {
		racks = append(racks, a.Node[:strings.LastIndex(a.Node, "/")])
	}
	slices.Sort(racks)
	return slices.Compact(racks)
}

// sized is a leaf of pods that differ in how many devices they ask for.
func sized(constraint packing.Constraint, devices ...int64) packing.Group {
	g := packing.Group{Name: "sized", Constraint: constraint, MinMember: len(devices)}
	for i, n := range devices {
		g.Pending = append(g.Pending, packing.Pods{Shape: shape(n), Names: []string{fmt.Sprint("p", i)}})
	}
	return g
}

// Of domains with room for each kind of a group's pods the tightest that takes all of them together is used, however many are tighter
// and do not, and by which bound that shows.
func TestTheTightestDomainThatTakesAllKindsIsUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		// tight are racks that take each pod alone.
		tight []int64
		group packing.Group
		// fits is a rack that just takes all, and wide one with much more room.
		fits, wide []int64
	}{
		"too few devices in all":             {[]int64{3}, sized(at("rack"), 2, 1, 1), []int64{4}, []int64{8, 8}},
		"too few on any node":                {[]int64{4, 1}, sized(at("rack"), 3, 2), []int64{3, 2}, []int64{8, 8}},
		"one rack preferred, too few in all": {[]int64{3}, sized(packing.Constraint{Topology: "site", Preferred: "rack"}, 2, 1, 1), []int64{4}, []int64{8, 8}},
		"one rack preferred, split":          {[]int64{4, 1}, sized(packing.Constraint{Topology: "site", Preferred: "rack"}, 3, 2), []int64{3, 2}, []int64{8, 8}},
	} {
		for _, tighter := range []int{1, 5, 8, 9, 40} {
			for placement, want := range map[packing.Placement]string{packing.Pack: "z/y-fits", packing.Spread: "z/z-wide"} {
				t.Run(fmt.Sprint(name, ", ", tighter, " are tighter, ", placement), func(t *testing.T) {
					s := site{"z/y-fits": tc.fits, "z/z-wide": tc.wide}
					for i := range tighter {
						s[fmt.Sprintf("z/tight-%02d", i)] = tc.tight
					}
					d := s.cluster(t).Decide(&packing.Gang{Root: tc.group}, packing.Options{Placement: placement})
					require.Equal(t, packing.Placed, d.Verdict, "optimal %v: %s", d.Optimal, d.Message())
					require.True(t, d.Optimal, "optimal %v: %s", d.Optimal, d.Message())
					got := racksUsed(&d)
					assert.Equal(t, []string{want}, got, "in %v, want %s", got, want)
				})
			}
		}
	}
}

// Where no domain takes the kinds together that is proved, and not left open, however many take each.
func TestKindsThatNoDomainTakesTogetherAreRefused(t *testing.T) {
	for _, racks := range []int{1, 8, 9, 200} {
		s := site{}
		for i := range racks {
			s[fmt.Sprintf("z/r%03d", i)] = []int64{4, 1}
		}
		d := s.cluster(t).Decide(&packing.Gang{Root: sized(at("rack"), 3, 2)}, packing.Options{})
		assert.Equal(t, packing.Infeasible, d.Verdict, "%d racks: %s", racks, d.Message())
		assert.NotNil(t, d.Certificate, "%d racks: %s", racks, d.Message())
	}
}

// The children of one domain may be thousands: what passing them takes is given beside the budget, so that even a budget of one step
// places groups of unlike pods there.
func TestThousandsOfNodesUnderOneDomainAreNoReasonToGiveUp(t *testing.T) {
	s := site{}
	for i := range 3_000 {
		s[fmt.Sprintf("z/r%04d", i)] = []int64{int64(i % 7)}
	}
	gang := &packing.Gang{}
	for i := range 60 {
		g := sized(packing.Constraint{}, int64(1+i%3), int64(1+i%2))
		g.Name = fmt.Sprint("group-", i)
		for k := range g.Pending {
			g.Pending[k].Names[0] = fmt.Sprint(g.Name, "-", k)
		}
		gang.Root.Children = append(gang.Root.Children, g)
	}
	most := 50
	gang.Root.MinSubGroups = &most
	c := s.cluster(t)
	for _, budget := range []int{1, packing.DefaultBudget} {
		d := c.Decide(gang, packing.Options{Budget: budget})
		if d.Verdict != packing.Placed || len(d.Assignments) != 120 || !d.Optimal {
			t.Errorf("budget %d: %s, %d pods, optimal %v: %s", budget, d.Verdict, len(d.Assignments), d.Optimal, d.Message())
		}
	}
}

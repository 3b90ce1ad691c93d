package packing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// twoZones is a cluster too large for an exact search: 80 racks of 16 nodes in each of two zones.
// A rack of zone a has room for 4 pods, and one of zone b for as many as are given.
func twoZones(t *testing.T, ofB int64) *packing.Cluster {
	t.Helper()
	c := packing.NewCluster()
	require.NoError(t, c.SetTopology("site", []string{"zone", "rack"}))
	for i := range 2 * 80 * 16 {
		zone, rack, free := "a", i/16, int64(0)
		if i >= 80*16 {
			zone = "b"
		}
		if zone == "a" && i%16 < 4 || zone == "b" && int64(i%16) < ofB {
			free = 1
		}
		c.SetNode(packing.Node{Name: fmt.Sprintf("node-%04d", i),
			Allocatable: packing.Resources{"gpu": free, "cpu": 8000},
			Labels:      map[string]string{"zone": zone, "rack": fmt.Sprint("rack-", rack)}})
	}
	return c
}

// The gang needs one zone and its group prefers one rack. It goes to the zone that has such a rack, although another
// zone with room is tighter.
func TestALargeClusterIsSearchedForAZoneWithFewerRacks(t *testing.T) {
	gang := &packing.Gang{Root: packing.Group{Name: "gang",
		Constraint: packing.Constraint{Topology: "site", Required: "zone"},
		Children: []packing.Group{
			{Name: "router", MinMember: 1, Pending: []packing.Pods{{Shape: packing.Shape{Key: "router",
				Requests: packing.Resources{"cpu": 1000}}, Names: []string{"router"}}}},
			{Name: "workers", MinMember: 8, Constraint: packing.Constraint{Topology: "site", Preferred: "rack"},
				Pending: []packing.Pods{{Shape: shape(1), Names: podNames("worker", 8)}}},
		}}}
	gang.Root.Children[1].Pending[0].Shape = packing.Shape{Key: "worker",
		Requests: packing.Resources{"gpu": 1, "cpu": 1000}}
	for _, tc := range []struct {
		ofB   int64
		zone  string
		racks int
	}{{16, "b", 1}, {4, "a", 2}, {5, "a", 2}} {
		d := twoZones(t, tc.ofB).Decide(gang, packing.Options{})
		require.Equal(t, packing.Placed, d.Verdict, "%d free devices in racks of zone b: %s", tc.ofB, d.Message())
		workers := paths(d.Groups[2], "rack")
		if len(workers) != tc.racks || !strings.HasPrefix(workers[0], tc.zone+"/") {
			t.Errorf("%d free devices in racks of zone b: workers stand in %v, want %d racks of zone %s", tc.ofB,
				workers, tc.racks, tc.zone)
		}
	}
}

package counts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The domains inside a domain have ranks one after the other, whatever came and went before.
func TestRanksInsideADomain(t *testing.T) {
	c := NewCluster()
	require.NoError(t, c.SetTopology("net", []string{"zone", "block", "rack"}))
	for i := range 240 {
		labels := map[string]string{"zone": fmt.Sprint(i % 3), "block": fmt.Sprint(i % 12), "rack": fmt.Sprint(i % 60)}
		if i%60 == 7 {
			delete(labels, "rack") // A block with nodes that are in no rack.
		}
		c.SetNode(Node{Name: fmt.Sprint(i), Labels: labels})
	}
	for _, gone := range []int{5, 65, 125, 185} {
		c.RemoveNode(fmt.Sprint(gone)) // The only ones of their rack.
	}
	slot, _ := c.SlotOf("net")
	topology := c.Topologies[slot]
	for in := range topology.Domains {
		if slices.Contains(topology.free, int32(in)) {
			continue
		}
		for level := topology.Domains[in].Level + 1; level < len(topology.Levels); level++ {
			var want []int32
			topology.DomainsAt(int32(in), level, func(at int32) bool {
				want = append(want, at)
				return true
			})
			from, to := topology.RanksIn(int32(in), level)
			got := topology.RankedDomains(level)[from:to]
			assert.True(t, slices.Equal(got, want),
				"level %d in %v: domains %v, want %v", level, topology.Domains[in].Path, got, want)
		}
	}
}

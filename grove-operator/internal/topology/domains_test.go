package topology_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/domains"
)

func TestCompareSortsBroadestFirst(t *testing.T) {
	shuffled := domains.Order{domains.Numa, domains.Region, domains.Rack, domains.Zone, domains.Host, domains.Block,
		domains.Datacenter}
	slices.SortFunc(shuffled, domains.All().Compare)
	assert.Equal(t, domains.All(), shuffled)
}

func TestOrderOfHasEachDomainOnce(t *testing.T) {
	type word string
	got, want := domains.OrderOf([]word{"b", "a", "b"}), (domains.Order{"b", "a"})
	assert.Equal(t, want, got)
}

func TestAllIsACopy(t *testing.T) {
	domains.All()[0] = "changed"
	assert.True(t, domains.All().Known(domains.Region), "a caller changed the vocabulary")
}

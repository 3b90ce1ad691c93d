package topology_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/domains"
)

func TestNarrower(t *testing.T) {
	own := domains.Order{"rack", "spine", "zone"}
	for name, c := range map[string]struct {
		order domains.Order
		a, b  domains.Domain
		want  bool
	}{
		"a rack is narrower than a zone":          {domains.All(), domains.Rack, domains.Zone, true},
		"a zone is not narrower than a rack":      {domains.All(), domains.Zone, domains.Rack, false},
		"no domain is narrower than itself":       {domains.All(), domains.Host, domains.Host, false},
		"an unknown domain is not narrower":       {domains.All(), "aisle", domains.Region, false},
		"nothing is narrower than an unknown one": {domains.All(), domains.Numa, "aisle", false},
		"the order counts and not the names":      {own, domains.Zone, domains.Rack, true},
		"a name of one's own has its place":       {own, "spine", domains.Rack, true},
		"a name that the order lacks has none":    {own, domains.Host, domains.Rack, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, c.order.Narrower(c.a, c.b), "Narrower(%q, %q)", c.a, c.b)
			assert.Equal(t, c.want, c.order.Broader(c.b, c.a), "Broader(%q, %q)", c.b, c.a)
		})
	}
}

func TestCompareSortsBroadestFirst(t *testing.T) {
	shuffled := domains.Order{domains.Numa, domains.Region, domains.Rack, domains.Zone, domains.Host, domains.Block,
		domains.Datacenter}
	slices.SortFunc(shuffled, domains.All().Compare)
	assert.Equal(t, domains.All(), shuffled, "sorted")
}

func TestOrderOfHasEachDomainOnce(t *testing.T) {
	type word string
	got, want := domains.OrderOf([]word{"b", "a", "b"}), (domains.Order{"b", "a"})
	assert.Equal(t, want, got, "order")
}

func TestWithinAreTheDomainsThatAreNotBroader(t *testing.T) {
	own := domains.Order{"hall", "spine", "leaf"}
	if got, want := own.Within("spine"), (domains.Order{"spine", "leaf"}); !slices.Equal(got, want) {
		t.Errorf("within spine = %v, want %v", got, want)
	}
	assert.Equal(t, own, own.Within("unknown"), "within what is none")
}

func TestAllIsACopy(t *testing.T) {
	domains.All()[0] = "changed"
	assert.True(t, domains.All().Known(domains.Region), "a caller changed the vocabulary")
}

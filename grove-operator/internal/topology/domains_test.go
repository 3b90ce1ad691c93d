package topology_test

import (
	"slices"
	"testing"

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
			if got := c.order.Narrower(c.a, c.b); got != c.want {
				t.Errorf("Narrower(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
			}
			if got := c.order.Broader(c.b, c.a); got != c.want {
				t.Errorf("Broader(%q, %q) = %v, want %v", c.b, c.a, got, c.want)
			}
		})
	}
}

func TestCompareSortsBroadestFirst(t *testing.T) {
	shuffled := domains.Order{domains.Numa, domains.Region, domains.Rack, domains.Zone, domains.Host, domains.Block,
		domains.Datacenter}
	slices.SortFunc(shuffled, domains.All().Compare)
	if !slices.Equal(shuffled, domains.All()) {
		t.Errorf("sorted = %v, want %v", shuffled, domains.All())
	}
}

func TestOrderOfHasEachDomainOnce(t *testing.T) {
	type word string
	if got, want := domains.OrderOf([]word{"b", "a", "b"}), (domains.Order{"b", "a"}); !slices.Equal(got, want) {
		t.Errorf("order = %v, want %v", got, want)
	}
}

func TestWithinAreTheDomainsThatAreNotBroader(t *testing.T) {
	own := domains.Order{"hall", "spine", "leaf"}
	if got, want := own.Within("spine"), (domains.Order{"spine", "leaf"}); !slices.Equal(got, want) {
		t.Errorf("within spine = %v, want %v", got, want)
	}
	if got := own.Within("unknown"); !slices.Equal(got, own) {
		t.Errorf("within what is none = %v, want all of %v", got, own)
	}
}

func TestAllIsACopy(t *testing.T) {
	domains.All()[0] = "changed"
	if !domains.All().Known(domains.Region) {
		t.Error("a caller changed the vocabulary")
	}
}

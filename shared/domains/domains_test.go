package domains_test

import (
	"slices"
	"testing"

	"packtree.dev/shared/domains"
)

func TestNarrower(t *testing.T) {
	for name, c := range map[string]struct {
		a, b domains.Domain
		want bool
	}{
		"a rack is narrower than a zone":          {domains.Rack, domains.Zone, true},
		"a zone is not narrower than a rack":      {domains.Zone, domains.Rack, false},
		"no domain is narrower than itself":       {domains.Host, domains.Host, false},
		"an unknown domain is not narrower":       {"aisle", domains.Region, false},
		"nothing is narrower than an unknown one": {domains.Numa, "aisle", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := domains.Narrower(c.a, c.b); got != c.want {
				t.Errorf("Narrower(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
			}
			if got := domains.Broader(c.b, c.a); got != c.want {
				t.Errorf("Broader(%q, %q) = %v, want %v", c.b, c.a, got, c.want)
			}
		})
	}
}

func TestCompareSortsBroadestFirst(t *testing.T) {
	shuffled := []domains.Domain{domains.Numa, domains.Region, domains.Rack, domains.Zone, domains.Host, domains.Block, domains.Datacenter}
	slices.SortFunc(shuffled, domains.Compare)
	if !slices.Equal(shuffled, domains.All()) {
		t.Errorf("sorted = %v, want %v", shuffled, domains.All())
	}
}

func TestAllIsACopy(t *testing.T) {
	domains.All()[0] = "changed"
	if !domains.Known(domains.Region) {
		t.Error("a caller changed the vocabulary")
	}
}

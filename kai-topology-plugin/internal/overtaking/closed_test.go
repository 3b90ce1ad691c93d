package overtaking

import (
	"fmt"
	"slices"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/gangstate"
)

func TestClosedDomains(t *testing.T) {
	rack := gangstate.Ground{Levels: []string{"zone", "rack"}}
	var closed closedDomains
	for _, domain := range []gangstate.KeptDomain{
		{Ground: rack, Domain: "a/1", Scarce: []string{"gpu"}},
		{Ground: rack, Domain: "a/1", Scarce: []string{"cpu", "gpu"}},
		{Ground: gangstate.Ground{Levels: []string{"zone"}}, Domain: "b", Scarce: []string{"memory"}},
	} {
		if closed.has(domain) {
			t.Errorf("domain %s is closed for %v before it is", domain.Domain, domain.Scarce)
		}
		closed.add(domain)
		if !closed.has(domain) {
			t.Errorf("domain %s is not closed for %v", domain.Domain, domain.Scarce)
		}
	}
	for name, c := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"in a rack that is kept":  {map[string]string{"zone": "a", "rack": "1"}, []string{"cpu", "gpu"}},
		"in another rack":         {map[string]string{"zone": "a", "rack": "2"}, nil},
		"in a zone that is kept":  {map[string]string{"zone": "b", "rack": "1"}, []string{"memory"}},
		"in no domain":            {map[string]string{"rack": "1"}, nil},
		"in no rack of that zone": {map[string]string{"zone": "b"}, []string{"memory"}},
	} {
		if got := closed.scarce(c.labels); !slices.Equal(got, c.want) {
			t.Errorf("a node %s is closed for %v, want %v", name, got, c.want)
		}
	}
	if closed.has(gangstate.KeptDomain{Ground: rack, Domain: "a/2", Scarce: []string{"gpu"}}) {
		t.Error("another rack is closed")
	}
}

// BenchmarkKeptDomains is what it costs to find the room that is kept, on 1,000 nodes in racks of 8, when 200 gangs
// wait for all racks.
func BenchmarkKeptDomains(b *testing.B) {
	rack := gangstate.Ground{Levels: []string{"block", "rack"}}
	labels := make([]map[string]string, 1000)
	for i := range labels {
		labels[i] = map[string]string{"block": fmt.Sprint(i / 32), "rack": fmt.Sprint(i / 8)}
	}
	var all []gangstate.KeptDomain
	for range 200 {
		for i := 0; i < len(labels); i += 8 {
			path, _ := rack.Domain(labels[i])
			all = append(all, gangstate.KeptDomain{Ground: rack, Domain: path, Scarce: []string{"gpu"}})
		}
	}
	for b.Loop() {
		var closed closedDomains
		for _, domain := range all {
			if !closed.has(domain) {
				closed.add(domain)
			}
		}
		for _, node := range labels {
			closed.scarce(node)
		}
	}
}

package explain

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

func TestAmountsAreInTheUnitsOfPeople(t *testing.T) {
	for want, short := range map[string]Shortage{
		"3 example.com/gpu":     {Resource: "example.com/gpu", Amount: 3},
		"27408 cpu":             {Resource: "cpu", Amount: 27_408_000, Needed: 27_840_000, Free: 432_000},
		"0.25 cpu":              {Resource: "cpu", Amount: 250},
		"1.5Gi memory":          {Resource: "memory", Amount: 3 << 29},
		"512 ephemeral-storage": {Resource: "ephemeral-storage", Amount: 512},
		"2Mi hugepages-2Mi":     {Resource: "hugepages-2Mi", Amount: 2 << 20},
		"2048Ti memory":         {Resource: "memory", Amount: 1 << 51},
		"1 pod slot":            {Resource: "pods", Amount: 1},
	} {
		assert.Equal(t, want, amountText(short))
	}
}

// A search that ends is not said to have given up.
func TestWhatIsRefusedWithoutACertificateSaysSo(t *testing.T) {
	d := &report{Search: &search.Search{Trial: &problem.Trial{P: &problem.Problem{Groups: []problem.Subgroup{{Source: &problem.Group{Name: "g"}}}}}}}
	for _, tc := range []struct {
		partial, refuted bool
		want             string
	}{
		{false, false, "the search for a placement stopped after 0 steps; it is not proved that none exists"},
		{true, false, "the search for a placement stopped after 0 steps; the pods are of too many kinds to look at " +
			"every node for each, and it is not proved that none exists"},
		{false, true, "the search found no placement, but no proof that none exists"},
	} {
		d.P.Partial, d.refuted = tc.partial, tc.refuted
		if got := d.explainUnknown(); got.Sentence != tc.want || got.Group != "g" {
			t.Errorf("%q: %s, want %s", got.Group, got.Sentence, tc.want)
		}
	}
}

// What certificates seldom end with has words too.
func TestEachRuleThatDecidesHasWords(t *testing.T) {
	rack := certificate.Measure{Topology: "site", Level: "rack"}
	one, sized := rack, rack
	one.Groups = map[string]int64{"a": 1, "b": 1}
	sized.Groups = map[string]int64{"a": 4, "b": 6}
	branch := &certificate.Branch{Group: "a", Topology: "site", Level: "rack"}
	for want, c := range map[string]claim{
		"too few pods fit into the cluster, as the certificate shows case by case": {},
		"1 of 2 subgroups fit into the cluster":                                    {rule: &certificate.Rule{Deficit: &certificate.Deficit{Has: 1, Needs: 2}}},
		"1 of 2 pods fit into any rack, a pod requests 2 cpu, and no node has more than 0.5 free": {
			rule: &certificate.Rule{Deficit: &certificate.Deficit{Has: 1, Needs: 2, Shortage: certificate.Shortage{Resource: "cpu", Asks: 2000,
				Free: 500}}}, leaf: true, here: true, branch: branch,
		},
		"1 of 2 pods fit into the cluster, since most nodes have too little cpu for a pod": {
			rule: &certificate.Rule{Deficit: &certificate.Deficit{Has: 1, Needs: 2, Shortage: certificate.Shortage{Resource: "cpu", Asks: 2000,
				Free: 4000}}}, leaf: true,
		},
		"2 of 3 pods fit into the cluster, short of 4 gpu": {
			rule: &certificate.Rule{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "gpu"}, Need: 12,
				Offer: 8}}, pods: 4,
		},
		"too few pods fit into the cluster, short of 4 gpu (at least 12 needed, room for 8)": {
			rule: &certificate.Rule{Cut: &certificate.Cut{Measure: certificate.Measure{Resource: "gpu"}, Need: 12, Offer: 8}},
		},
		"at most 3 of 4 pods fit into the cluster, wherever group \"a\" goes": {
			rule: &certificate.Rule{Cut: &certificate.Cut{Measure: certificate.Measure{Pods: map[string]int64{"p": 1}}, Need: 4,
				Offer: 3}}, branch: branch,
		},
		"at most 1 of 2 subgroups fit into the cluster, each subgroup in one rack": {
			rule: &certificate.Rule{Cut: &certificate.Cut{Measure: one, Need: 2, Offer: 1}},
		},
		"at most 6 of 10 pods fit into the cluster, each subgroup in one rack": {
			rule: &certificate.Rule{Cut: &certificate.Cut{Measure: sized, Need: 10, Offer: 6}},
		},
	} {
		fits, lacks := c.message(&Explanation{})
		assert.Equal(t, want, fits+lacks)
	}
}

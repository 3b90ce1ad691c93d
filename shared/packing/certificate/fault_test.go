package certificate_test

import (
	"math"
	"testing"

	"packtree.dev/shared/packing/certificate"
)

func rulesFrom(start int, rules ...certificate.Rule) *certificate.Proof {
	return &certificate.Proof{Start: []int{start}, Rules: rules}
}

func onePod(kind int, name string) []certificate.Pods {
	return []certificate.Pods{{Kind: kind, Names: []string{name}}}
}

func twoNodes(free0, free1 int64) []certificate.Node {
	return []certificate.Node{
		{Name: "n0", Free: map[string]int64{"gpu": free0}, Domains: map[string][]string{"net": {"z", "r0"}}},
		{Name: "n1", Free: map[string]int64{"gpu": free1}, Domains: map[string][]string{"net": {"z", "r1"}}},
	}
}

func TestFaults(t *testing.T) {
	net := []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}}}
	search := certificate.Rule{Search: &certificate.Search{}}
	for name, test := range map[string]struct {
		in    *certificate.Input
		proof *certificate.Proof
		nodes map[string]string
	}{
		"items that stand apart": {
			in: &certificate.Input{Topologies: net, Nodes: twoNodes(4, 0),
				Kinds:     []certificate.Kind{{Requests: map[string]int64{"gpu": 1}}},
				Relations: []certificate.Relation{{Name: "apart", Topology: "net", Level: "rack", Max: 1}},
				Groups: []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: 1},
					{Name: "a", Topology: "net", Required: "zone", Relations: []string{"apart"}, MinMember: 2, Pending: onePod(0, "a-0"), Running: []string{"n0"}},
					{Name: "b", Topology: "net", Required: "zone", Relations: []string{"apart"}, MinMember: 2, Pending: onePod(0, "b-0"), Running: []string{"n1"}}}},
			proof: rulesFrom(0, certificate.Rule{Without: &certificate.Without{Groups: []string{"b", "a"}, Each: []int{2}, Then: []int{1}}}, few(), search),
			nodes: map[string]string{"a-0": "n0"},
		},
		"an item and no item": {
			in: &certificate.Input{Topologies: net, Nodes: twoNodes(4, 4)[:1],
				Kinds:     []certificate.Kind{{Requests: map[string]int64{"gpu": 1}}},
				Relations: []certificate.Relation{{Name: "apart", Topology: "net", Level: "rack", Max: 1, Others: [][]string{{"n0"}}}},
				Groups: []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: 1},
					{Name: "A", Parent: 0, MinSubGroups: 1, Relations: []string{"apart"}},
					{Name: "a", Parent: 1, MinMember: 1, Pending: onePod(0, "a-0")},
					{Name: "b", Parent: 0, MinMember: 1, Pending: onePod(0, "b-0")}}},
			proof: rulesFrom(0, certificate.Rule{Without: &certificate.Without{Groups: []string{"b", "a"}, Each: []int{2}, Then: []int{1}}}, few(), search),
			nodes: map[string]string{"b-0": "n0"},
		},
		"By of one of alike groups": {
			in: &certificate.Input{Topologies: net, Nodes: twoNodes(8, 4)[:1],
				Kinds: []certificate.Kind{{Requests: map[string]int64{"gpu": 4}}},
				Groups: []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: 2},
					{Name: "a", Topology: "net", Required: "rack", MinMember: 1, Pending: onePod(0, "a-0")},
					{Name: "b", Topology: "net", Required: "rack", MinMember: 1, Pending: onePod(0, "b-0")}}},
			proof: rulesFrom(0, cut(certificate.Measure{Topology: "net", Level: "rack", Groups: map[string]int64{"a": 1, "b": 1},
				By: []certificate.Measure{{Resource: "gpu", Of: []string{"a"}}}})),
			nodes: map[string]string{"a-0": "n0", "b-0": "n0"},
		},
		"overflow of By": {
			in: &certificate.Input{Topologies: net, Nodes: twoNodes(math.MaxInt64, math.MaxInt64),
				Kinds: []certificate.Kind{{Requests: map[string]int64{"gpu": math.MaxInt64}}},
				Groups: []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: 2},
					{Name: "a", Topology: "net", Required: "zone", MinMember: 1, Pending: onePod(0, "a-0")},
					{Name: "b", Topology: "net", Required: "zone", MinMember: 1, Pending: onePod(0, "b-0")}}},
			proof: rulesFrom(0, cut(certificate.Measure{Topology: "net", Level: "zone", Groups: map[string]int64{"a": 1, "b": 1},
				By: []certificate.Measure{{Resource: "gpu"}}})),
			nodes: map[string]string{"a-0": "n0", "b-0": "n1"},
		},
		"overflow of missing": {
			in: &certificate.Input{Topologies: net, Nodes: twoNodes(4, 4),
				Kinds: []certificate.Kind{{Requests: map[string]int64{"gpu": 1}}},
				Relations: []certificate.Relation{{Name: "even", Topology: "net", Level: "rack", Max: math.MaxInt64, Even: true, PerPod: true,
					Others: [][]string{{"n0"}, {"n1"}}}},
				Groups: []certificate.Group{
					{Name: "all", Parent: -1, MinMember: 1, Pending: onePod(0, "a-0"), Relations: []string{"even"}}}},
			proof: rulesFrom(0, certificate.Rule{Odd: &certificate.Odd{Relation: "even"}}),
			nodes: map[string]string{"a-0": "n0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if errs := certificate.Check(test.in, test.nodes); len(errs) > 0 {
				t.Errorf("no placement: %v", errs)
			}
			if p := prove(t, test.in); p != nil {
				t.Errorf("REFUTE: %+v", p)
			}
			if c, err := certificate.Complete(test.in, test.proof); err == nil {
				t.Errorf("accepted: %+v", c)
			} else {
				t.Log(err)
			}
		})
	}
	m, err := certificate.Read(racks())
	if err != nil {
		t.Fatal(err)
	}
	p := rulesFrom(0, few())
	for n := range 60 {
		if _, _, err := m.Complete(p, n); err == nil {
			t.Errorf("%d", n)
		}
	}
}

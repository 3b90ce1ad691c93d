package packing_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/brief"
	"packtree.dev/shared/packing"
)

// A cluster of 10,000 racks with long names, each node excluded for its own reason or too small, and a gang of 100
// groups: every explanation stays short.
func TestExplanationsAreShortWhateverTheCluster(t *testing.T) {
	const racks, groups = 10_000, 100
	long := strings.Repeat("é", 120)
	c := packing.NewCluster()
	require.NoError(t, c.SetTopology("site", []string{"zone-" + long, "rack-" + long}))
	nodes := map[string]int{}
	for i := range racks {
		name := fmt.Sprintf("%s-%d", long, i)
		nodes[name] = i
		c.SetNode(packing.Node{Name: name, Allocatable: packing.Resources{"pods": 110, long + "/device": int64(i % 2)},
			Labels: map[string]string{"zone-" + long: "zone-" + long, "rack-" + long: "rack-" + name}})
	}
	excluded := func(node string) string {
		if i := nodes[node]; i%3 == 0 {
			return fmt.Sprintf("taint %s-%d", long, i)
		}
		return ""
	}
	for about, change := range map[string]func(*packing.Group){
		"groups that are too large": func(g *packing.Group) { g.Constraint.Required = "rack-" + long },
		"groups that filters keep off nodes": func(g *packing.Group) {
			g.Pending[0].Shape.Key, g.Pending[0].Shape.Requests = "two", packing.Resources{long + "/device": 2}
		},
		"groups without pods": func(g *packing.Group) { g.Pending = nil },
		"groups that follow gangs": func(g *packing.Group) {
			for i := range 50 {
				g.Follow = append(g.Follow, packing.Anchor{Topology: "site", Level: "rack-" + long,
					Nodes: []string{fmt.Sprintf("%s-%d", long, i)}, PodsText: "gang " + long})
			}
		},
	} {
		t.Run(about, func(t *testing.T) {
			gang := &packing.Gang{Root: packing.Group{Name: "gang-" + long}}
			for i := range groups {
				group := packing.Group{Name: fmt.Sprintf("%s-%d", long, i), MinMember: 2,
					Constraint: packing.Constraint{Topology: "site"}, Pending: []packing.Pods{{
						Shape: packing.Shape{Key: "device", Requests: packing.Resources{long + "/device": 1}, Excluded: excluded},
						Names: []string{fmt.Sprintf("a-%d", i), fmt.Sprintf("b-%d", i)},
					}}}
				change(&group)
				gang.Root.Children = append(gang.Root.Children, group)
			}
			d := c.Decide(gang, packing.Options{})
			require.NotEqual(t, packing.Placed, d.Verdict)
			require.NotEmpty(t, d.Explanations)
			for _, e := range d.Explanations {
				if len(e.Sentence) > brief.Longest || !utf8.ValidString(e.Sentence) || e.Sentence == "" {
					t.Errorf("%d bytes: %q", len(e.Sentence), e.Sentence)
				}
			}
			t.Log(d.Message())
		})
	}
}

package podgrouptree_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/relations"
)

// ample is three zones of three racks of three hosts, each with room for everything.
func ample(t *testing.T) *packing.Cluster {
	t.Helper()
	c := packing.NewCluster()
	require.NoError(t, c.SetTopology("gpu", []string{"zone", "rack", "host"}))
	for zone := range 3 {
		for rack := range 3 {
			for host := range 3 {
				name := fmt.Sprintf("%d%d%d", zone, rack, host)
				c.SetNode(packing.Node{Name: name, Allocatable: packing.Resources{"device": 100},
					Labels: map[string]string{"zone": fmt.Sprint(zone), "rack": fmt.Sprint(rack), "host": name}})
			}
		}
	}
	return c
}

// For every pair of a bound at a level and of constraints, on the group around the items and on each of them: a
// relation that is refused fits nowhere, and one that is not refused fits if there is room.
func TestARelationIsRefusedIfAndOnlyIfAConstraintContradictsIt(t *testing.T) {
	cluster, levels := ample(t), podgrouptree.Levels(levels)
	refused := 0
	for _, bound := range []relations.Relation{
		{MaxPerDomain: 1}, {MaxPerDomain: 2}, {MaxPerDomain: 3}, {MaxPercentPerDomain: 33}, {MaxPercentPerDomain: 34},
		{Even: true}, {Near: "other"},
	} {
		for _, level := range []string{"zone", "rack", "host"} {
			for _, around := range []string{"", "zone", "rack", "host"} {
				for _, each := range []string{"", "zone", "rack", "host"} {
					for _, needed := range []int32{2, 3} {
						bound.Name, bound.Topology, bound.Level, bound.SubGroups = "r", "gpu", level,
							[]string{"a", "b", "c"}
						for _, required := range []bool{true, false} {
							if bound.Required = &required; required && bound.Even {
								continue
							}
							tree, gang := between(t, &bound, around, each, needed)
							wrong := relations.Validate([]relations.Relation{bound}, tree, levels)
							d := cluster.Decide(gang, packing.Options{Terse: true, Budget: 10_000})
							if fits := d.Verdict == packing.Placed; fits != (len(wrong) == 0) {
								t.Errorf("%s, around %q, each %q, %d needed, required %v: %v, but %s: %s",
									bound.String(), around, each, needed, required, wrong, d.Verdict, d.Message())
							}
							refused += len(wrong)
						}
					}
				}
			}
		}
	}
	assert.NotZero(t, refused, "nothing is refused")
}

// between makes a PodGroup of three groups of two pods each inside another group, and the gang of it.
func between(
	t *testing.T, r *relations.Relation, around, each string, needed int32,
) (*podgrouptree.Tree, *packing.Gang) {
	t.Helper()
	constraint := func(level string) *scheduling.TopologyConstraint {
		if level == "" {
			return nil
		}
		return &scheduling.TopologyConstraint{Topology: "gpu", RequiredTopologyLevel: level}
	}
	one, all := int32(1), int(needed)
	set := scheduling.SubGroup{Name: "set", MinSubGroup: &needed, TopologyConstraint: constraint(around)}
	spec := scheduling.PodGroupSpec{MinSubGroup: &one, SubGroups: []scheduling.SubGroup{set}}
	root := packing.Group{Name: "set", MinSubGroups: &all,
		Constraint: packing.Constraint{Topology: "gpu", Required: around}}
	for _, name := range r.SubGroups {
		parent := "set"
		spec.SubGroups = append(spec.SubGroups,
			scheduling.SubGroup{Name: name, Parent: &parent, MinMember: new(int32(2)), TopologyConstraint: constraint(each)})
		root.Children = append(root.Children, packing.Group{
			Name: name, MinMember: 2, Constraint: packing.Constraint{Topology: "gpu", Required: each},
			Relations: []string{"r"},
			Pending: []packing.Pods{
				{Shape: packing.Shape{Key: "pod", Requests: packing.Resources{"device": 1}},
					Names: []string{name + "0", name + "1"}},
			},
		})
	}
	tree, errs := podgrouptree.New(&spec)
	require.Empty(t, errs)
	relation := packing.Relation{Name: "r", Topology: "gpu", Level: r.Level, Even: r.Even, Preferred: r.Preferred()}
	switch {
	case r.Near != "":
		relation.Near = []string{"000", "110"}
	case !r.Even:
		relation.Max = r.Limit(len(r.SubGroups))
	}
	return tree, &packing.Gang{Root: root, Relations: []packing.Relation{relation}}
}

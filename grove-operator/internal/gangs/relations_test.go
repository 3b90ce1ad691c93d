package gangs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/relations"

	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

// spreading is a set with a clique a of three pods, and groups p and q of one clique each; two copies of p are the
// minimum.
func spreading(ofSet, ofClique, ofP, ofQ string) string {
	return `
metadata: {name: s}
spec:
  replicas: 2
  template:
    topologySpread: [` + ofSet + `]
    cliques:
      - {name: a, topologySpread: [` + ofClique + `], spec: {replicas: 3, podSpec: {}}}
      - {name: p, topologySpread: [` + ofClique + `], spec: {replicas: 2, podSpec: {}}}
      - {name: q, spec: {podSpec: {}}}
    podCliqueScalingGroups:
      - {name: p, cliqueNames: [p], replicas: 3, minAvailable: 2, topologySpread: [` + ofP + `]}
      - {name: q, cliqueNames: [q], replicas: 2, topologySpread: [` + ofQ + `]}
`
}

// Grove's gangs are of replica 1: the base gang s-1 with copies 0 and 1 of p and 0 of q, then copy 2 of p, then copy 1
// of q.
func TestGangsSayHowTheirPartsStandToOneAnother(t *testing.T) {
	const (
		topologyName = grovev1alpha1.DefaultClusterTopologyName
		rack         = "example.com/rack"
	)
	type list = []relations.Relation
	of := func(name, gangs string, most int32, subGroups ...string) relations.Relation {
		return relations.Relation{Name: name, Gangs: gangs, SubGroups: subGroups, Topology: topologyName, Level: rack,
			MaxPerDomain: most}
	}
	replica := func(name string) relations.Relation {
		return relations.Relation{
			Name: name, Gangs: "s." + name, Item: "s-1", Topology: topologyName, Level: "example.com/zone",
			MaxPercentPerDomain: 50, Required: new(false),
		}
	}
	pods := func(name, leaf string) relations.Relation {
		return relations.Relation{Name: name, PodsOf: leaf, Topology: topologyName, Level: rack, Even: true,
			Required: new(false)}
	}
	near := func(name string, subGroups ...string) relations.Relation {
		return relations.Relation{Name: name, Near: "other-0", SubGroups: subGroups,
			Topology: topologyName, Level: rack}
	}
	for name, c := range map[string]struct {
		manifest string
		levels   []grovev1alpha1.TopologyDomain
		live     live
		want     []list
	}{
		"nothing is said": {manifest: spreading("", "", "", ""), want: []list{nil, nil, nil}},
		"copies of a group, in the base gang and beyond it": {
			manifest: spreading("", "", "{domain: rack, maxPerDomain: 1}", ""),
			want: []list{
				{of("p-by-rack", "s-1.p-by-rack", 1, "s-1-p-0", "s-1-p-1")},
				{of("p-by-rack", "s-1.p-by-rack", 1)},
				nil,
			},
		},
		"copies of which the base gang has none": {
			manifest: spreading("", "", "{domain: rack, maxPerDomain: 1}", ""),
			live:     live{copies: map[string]int32{"s-1-p": 0}},
			want:     []list{nil, nil},
		},
		"a second one about the same level has a name of its own": {
			manifest: spreading("", "", "{domain: rack, maxPerDomain: 2}, {domain: rack, maxPerDomain: 3}", ""),
			want: []list{
				{
					of("p-by-rack", "s-1.p-by-rack", 2, "s-1-p-0", "s-1-p-1"),
					of("p-by-rack.1", "s-1.p-by-rack.1", 3, "s-1-p-0", "s-1-p-1"),
				},
				{of("p-by-rack", "s-1.p-by-rack", 2), of("p-by-rack.1", "s-1.p-by-rack.1", 3)},
				nil,
			},
		},
		"replicas of the set, all gangs of which are one": {
			manifest: spreading("{domain: zone, maxPercentPerDomain: 50, whenUnsatisfiable: ScheduleAnyway}", "", "",
				""),
			want: []list{{replica("set.replicas-by-zone")}, {replica("set.replicas-by-zone")},
				{replica("set.replicas-by-zone")}},
		},
		"several roles together, a clique among them": {
			manifest: spreading("{domain: rack, among: [a, q], maxPerDomain: 1}", "", "", ""),
			want: []list{
				{of("set.together-by-rack", "s-1.set.together-by-rack", 1, "s-1-a", "s-1-q-0")},
				nil,
				{of("set.together-by-rack", "s-1.set.together-by-rack", 1)},
			},
		},
		"pods of a clique, in each copy by itself": {
			manifest: spreading("", "{domain: rack, even: true, whenUnsatisfiable: ScheduleAnyway}", "", ""),
			want: []list{
				{
					pods("p.0.p.pods-by-rack", "s-1-p-0-p"), pods("p.1.p.pods-by-rack", "s-1-p-1-p"),
					pods("a.pods-by-rack", "s-1-a"),
				},
				{pods("p.pods-by-rack", "s-1-p-2-p")},
				nil,
			},
		},
		"the whole set near another gang": {
			manifest: spreading("{domain: rack, near: other-0}", "", "", ""),
			want:     []list{{near("set.near-by-rack")}, {near("set.near-by-rack")}, {near("set.near-by-rack")}},
		},
		"copies of a group near another gang": {
			manifest: spreading("", "", "{domain: rack, near: other-0}", ""),
			want:     []list{{near("p-by-rack", "s-1-p-0", "s-1-p-1")}, {near("p-by-rack")}, nil},
		},
		"PodCliques near another gang, and apart there": {
			manifest: spreading("", "{domain: rack, near: other-0}, {domain: rack, even: true, whenUnsatisfiable: ScheduleAnyway}", "", ""),
			want: []list{
				{
					near("p.0.p.pods-by-rack", "s-1-p-0-p"), pods("p.0.p.pods-by-rack.1", "s-1-p-0-p"),
					near("p.1.p.pods-by-rack", "s-1-p-1-p"), pods("p.1.p.pods-by-rack.1", "s-1-p-1-p"),
					near("a.pods-by-rack", "s-1-a"), pods("a.pods-by-rack.1", "s-1-a"),
				},
				{near("p.pods-by-rack", "s-1-p-2-p"), pods("p.pods-by-rack.1", "s-1-p-2-p")},
				nil,
			},
		},
		"a level that the topology does not have": {
			manifest: spreading("", "", "{domain: rack, maxPerDomain: 1}", ""),
			levels:   []grovev1alpha1.TopologyDomain{"zone"},
			want:     []list{nil, nil, nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.levels == nil {
				c.levels = []grovev1alpha1.TopologyDomain{"zone", "rack"}
			}
			set := fixture.Set(t, c.manifest)
			resolved := topology.Resolve(set, fixture.Lookup(fixture.Topology(topologyName, c.levels...)))
			var got []list
			for _, gang := range gangs.Desired(set, 1, resolved, c.live.view()) {
				read, wrong := relations.Parse(gang.Annotations)
				assert.Empty(t, wrong, gang.Name)
				if read != nil && gang.Annotations[grovev1alpha1.AnnotationTopologyName] != topologyName {
					t.Errorf("%s does not name the topology of its relations", gang.Name)
				}
				got = append(got, read)
			}
			assert.Empty(t, cmp.Diff(c.want, got), "relations (-want +got)")
		})
	}
}

// A copy without a constraint is a group for its relations alone; where a PodClique has its name, it gets another, as
// in the pod grouper.
func TestACopyThatIsAnItemIsAGroup(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s}
spec:
  replicas: 1
  template:
    cliques: [{name: p-0, spec: {podSpec: {}}}, {name: b, spec: {podSpec: {}}}]
    podCliqueScalingGroups: [{name: p, cliqueNames: [b], replicas: 2, minAvailable: 2, topologySpread: [{domain: rack, maxPerDomain: 1}]}]
`)
	made := gangs.Desired(set, 0,
		topology.Resolve(set, fixture.Lookup(fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "rack"))),
		live{}.view())
	want := []string{"s-0: s-0-p-0×1 s-0-p-0-b×1 s-0-p-1-b×1; s-0-p-0[s-0-p-0-b]; s-0-p-1[s-0-p-1-b]"}
	assert.Empty(t, cmp.Diff(want, sketch(made)), "(-want +got)")
	read, _ := relations.Parse(
		map[string]string{
			schedulingv2alpha2.AnnotationRelations: made[0].Annotations[schedulingv2alpha2.AnnotationRelations],
		})
	require.Len(t, read, 1, "items")
	assert.True(t, cmp.Equal(read[0].SubGroups, []string{"s-0-p-0-group", "s-0-p-1"}), "items")
}

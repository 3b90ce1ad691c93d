package podgrouptree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func leaf(name string, minMember int32, parent string) scheduling.SubGroup {
	return scheduling.SubGroup{Name: name, MinMember: &minMember, Parent: &parent}
}

func parent(name, above string) scheduling.SubGroup {
	return scheduling.SubGroup{Name: name, Parent: &above}
}

func parentNeeding(minSubGroup int32, name, above string) scheduling.SubGroup {
	return scheduling.SubGroup{Name: name, Parent: &above, MinSubGroup: &minSubGroup}
}

func constrained(sub scheduling.SubGroup, topology, required, preferred string) scheduling.SubGroup {
	sub.TopologyConstraint = &scheduling.TopologyConstraint{
		Topology: topology, RequiredTopologyLevel: required, PreferredTopologyLevel: preferred,
	}
	return sub
}

func groups(subGroups ...scheduling.SubGroup) scheduling.PodGroupSpec {
	return scheduling.PodGroupSpec{SubGroups: subGroups}
}

func number(n int32) *int32 { return &n }

func TestValidateCreate(t *testing.T) {
	cases := map[string]struct {
		spec scheduling.PodGroupSpec
		want []string
	}{
		"a PodGroup without subgroups is a leaf": {spec: scheduling.PodGroupSpec{MinMember: number(2)}},
		"a leaf needs a minimum": {
			want: []string{`spec.minMember: Required value: a group of pods must say how many of them it needs`},
		},
		"with subgroups the root's own minMember is ignored": {
			spec: scheduling.PodGroupSpec{MinMember: number(7), SubGroups: []scheduling.SubGroup{leaf("a", 1, "")}},
		},
		"three levels": {spec: groups(leaf("prefill", 3, "workers"), parent("workers", ""), leaf("frontend", 1, ""))},
		"a name twice": {
			spec: groups(leaf("a", 1, ""), leaf("b", 1, ""), leaf("a", 2, "")),
			want: []string{`spec.subGroups[2].name: Duplicate value: "a"`},
		},
		"the root's name": {
			spec: groups(leaf("", 1, "")),
			want: []string{
				`spec.subGroups[0].name: Required value: the empty name is the PodGroup itself`,
			},
		},
		"a name that no pod can have as its label": {
			spec: groups(leaf("no spaces", 1, "")),
			want: []string{
				`spec.subGroups[0].name: Invalid value: "no spaces": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
			},
		},
		"an unknown parent": {
			spec: groups(leaf("a", 1, "nobody")),
			want: []string{`spec.subGroups[0].parent: Invalid value: "nobody": no subGroup has this name`},
		},
		"its own parent": {
			spec: groups(parent("a", "a")),
			want: []string{
				`spec.subGroups[0].parent: Invalid value: "a": parents make a cycle: a → a; one of them needs another parent, or none`,
			},
		},
		"a cycle is reported once, at its first member": {
			spec: groups(leaf("x", 1, "c"), parent("b", "c"), parent("c", "d"), parent("d", "b")),
			want: []string{
				`spec.subGroups[1].parent: Invalid value: "c": parents make a cycle: b → c → d → b; one of them needs another parent, or none`,
			},
		},
		"a cycle that is found from its middle": {
			spec: groups(leaf("x", 1, "d"), parent("b", "c"), parent("c", "d"), parent("d", "b")),
			want: []string{
				`spec.subGroups[1].parent: Invalid value: "c": parents make a cycle: b → c → d → b; one of them needs another parent, or none`,
			},
		},
		"two cycles": {
			spec: groups(parent("a", "b"), parent("b", "a"), parent("c", "c")),
			want: []string{
				`spec.subGroups[0].parent: Invalid value: "b": parents make a cycle: a → b → a; one of them needs another parent, or none`,
				`spec.subGroups[2].parent: Invalid value: "c": parents make a cycle: c → c; one of them needs another parent, or none`,
			},
		},
		"both minima": {
			spec: scheduling.PodGroupSpec{MinMember: number(1), MinSubGroup: number(1),
				SubGroups: []scheduling.SubGroup{
					parent("p", ""), {Name: "a", Parent: new("p"), MinMember: number(1), MinSubGroup: number(2)},
				}},
			want: []string{
				`spec.minSubGroup: Invalid value: 1: minMember and minSubGroup exclude each other`,
				`spec.subGroups[1].minSubGroup: Invalid value: 2: minMember and minSubGroup exclude each other`,
			},
		},
		"minSubGroup on a leaf": {
			spec: groups(parentNeeding(1, "a", "")),
			want: []string{
				`spec.subGroups[0].minSubGroup: Invalid value: 1: is for groups of groups, and no subGroup has this one as its parent: use minMember`,
			},
		},
		"minSubGroup on a PodGroup without subgroups": {
			spec: scheduling.PodGroupSpec{MinSubGroup: number(1)},
			want: []string{
				`spec.minSubGroup: Invalid value: 1: is for groups of groups, and no subGroup has this one as its parent: use minMember`,
			},
		},
		"a subgroup that is a leaf needs a minimum": {
			spec: groups(parent("a", "")),
			want: []string{`spec.subGroups[0].minMember: Required value: a group of pods must say how many of them it needs`},
		},
		"minMember on a parent": {
			spec: groups(leaf("p", 2, ""), leaf("a", 1, "p")),
			want: []string{
				`spec.subGroups[0].minMember: Invalid value: 2: is for groups of pods, and other groups have this one as their parent: use minSubGroup`,
			},
		},
		"minMember 0 beside minSubGroup": {
			spec: scheduling.PodGroupSpec{MinMember: number(0), MinSubGroup: number(1),
				SubGroups: []scheduling.SubGroup{
					{Name: "p", MinMember: number(0), MinSubGroup: number(1)}, leaf("a", 1, "p"),
				}},
		},
		"minMember 0 on a parent": {spec: groups(leaf("p", 0, ""), leaf("a", 1, "p"))},
		"negative minima": {
			spec: groups(parentNeeding(-2, "p", ""), leaf("a", -1, "p")),
			want: []string{
				`spec.subGroups[0].minSubGroup: Invalid value: -2: must not be negative`,
				`spec.subGroups[1].minMember: Invalid value: -1: must not be negative`,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(c.want, lines(podgrouptree.ValidateCreate(&c.spec))), "findings (-want +got)")
		})
	}
}

func TestValidateToleratesMinMemberOnAnOldParent(t *testing.T) {
	spec := groups(leaf("p", 2, ""), leaf("a", 1, "p"))
	assert.Empty(t, podgrouptree.Validate(&spec))
}

func TestNewReportsWhatValidateFinds(t *testing.T) {
	tree, errs := podgrouptree.New(&scheduling.PodGroupSpec{})
	assert.Nil(t, tree)
	assert.Len(t, errs, 1)
}

var network = func(topology string) (podgrouptree.Hierarchy, bool) {
	return hierarchy("zone", "block", "rack"), topology == "network"
}

// hierarchy has levels of these keys and without aliases.
func hierarchy(keys ...string) podgrouptree.Hierarchy {
	levels := make(podgrouptree.Hierarchy, len(keys))
	for i, key := range keys {
		levels[i].Key = key
	}
	return levels
}

func TestAdvice(t *testing.T) {
	cases := map[string]struct {
		spec              scheduling.PodGroupSpec
		blockers, remarks []string
	}{
		"narrower towards the leaves": {
			spec: groups(
				constrained(parent("p", ""), "network", "zone", "block"),
				constrained(leaf("a", 1, "p"), "network", "zone", "rack")),
		},
		"more children needed than there are": {
			spec: groups(parentNeeding(3, "p", ""), leaf("a", 1, "p"), leaf("b", 1, "p")),
			blockers: []string{
				`spec.subGroups[0].minSubGroup: Invalid value: 3: must not be above the number of groups that have this one as their parent, which is 2`,
			},
		},
		"more children of the root needed than there are": {
			spec: scheduling.PodGroupSpec{MinSubGroup: number(2), SubGroups: []scheduling.SubGroup{leaf("a", 1, "")}},
			blockers: []string{
				`spec.minSubGroup: Invalid value: 2: must not be above the number of groups that have this one as their parent, which is 1`,
			},
		},
		"unknown topology": {
			spec: groups(constrained(leaf("a", 1, ""), "nowhere", "rack", "")),
			blockers: []string{
				`spec.subGroups[0].topologyConstraint.topology: Invalid value: "nowhere": no Topology has this name: create it, or name another`,
			},
		},
		"unknown levels": {
			spec: groups(constrained(leaf("a", 1, ""), "network", "rock", "rick")),
			blockers: []string{
				`spec.subGroups[0].topologyConstraint.requiredTopologyLevel: Invalid value: "rock": Topology "network" has no such level, its levels are: zone, block, rack`,
				`spec.subGroups[0].topologyConstraint.preferredTopologyLevel: Invalid value: "rick": Topology "network" has no such level, its levels are: zone, block, rack`,
			},
		},
		"a level without a topology": {
			spec: groups(constrained(leaf("a", 1, ""), "", "", "rack")),
			blockers: []string{
				`spec.subGroups[0].topologyConstraint.topology: Required value: a level needs the name of the Topology that it belongs to`,
			},
		},
		"a topology without a level constrains nothing": {
			spec: groups(constrained(leaf("a", 1, ""), "network", "", "")),
		},
		"an empty constraint": {spec: groups(constrained(leaf("a", 1, ""), "", "", ""))},
		"preferred broader than required": {
			spec: groups(constrained(leaf("a", 1, ""), "network", "rack", "zone")),
			remarks: []string{
				`spec.subGroups[0].topologyConstraint.preferredTopologyLevel: Invalid value: "zone": is broader than requiredTopologyLevel "rack", which implies it`,
			},
		},
		"a child broader than its parent": {
			spec: groups(
				constrained(parent("p", ""), "network", "block", "rack"),
				constrained(leaf("a", 1, "p"), "network", "zone", "block")),
			remarks: []string{
				`spec.subGroups[1].topologyConstraint.requiredTopologyLevel: Invalid value: "zone": is broader than "block" of group "p" above it, which implies it`,
				`spec.subGroups[1].topologyConstraint.preferredTopologyLevel: Invalid value: "block": is broader than "rack" of group "p" above it, which implies it`,
			},
		},
		"a leaf broader than the root, past a parent without a constraint": {
			spec: scheduling.PodGroupSpec{
				TopologyConstraint: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack"},
				SubGroups: []scheduling.SubGroup{parent("p", ""),
					constrained(leaf("a", 1, "p"), "network", "zone", "")},
			},
			remarks: []string{
				`spec.subGroups[1].topologyConstraint.requiredTopologyLevel: Invalid value: "zone": is broader than "rack" of the whole PodGroup, which implies it`,
			},
		},
		"minMember on an old parent": {
			spec: groups(leaf("p", 2, ""), leaf("a", 1, "p")),
			remarks: []string{
				`spec.subGroups[0].minMember: Invalid value: 2: is for groups of pods, and other groups have this one as their parent: use minSubGroup`,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree, errs := podgrouptree.New(&c.spec)
			require.Empty(t, errs)
			assert.Empty(t, cmp.Diff(c.blockers, lines(tree.Blockers(network))), "blockers (-want +got)")
			assert.Empty(t, cmp.Diff(c.remarks, lines(tree.Remarks(&c.spec, network))), "remarks (-want +got)")
		})
	}
}

func TestAdviceWithoutTopologiesJudgesOnlyTheTree(t *testing.T) {
	spec := groups(
		parentNeeding(3, "p", ""), constrained(leaf("a", 1, "p"), "nowhere", "rack", "zone"),
		constrained(leaf("b", 1, "p"), "", "rack", ""))
	tree, errs := podgrouptree.New(&spec)
	require.Empty(t, errs)
	want := []string{
		`spec.subGroups[0].minSubGroup: Invalid value: 3: must not be above the number of groups that have this one as their parent, which is 2`,
		`spec.subGroups[2].topologyConstraint.topology: Required value: a level needs the name of the Topology that it belongs to`,
	}
	assert.Empty(t, cmp.Diff(want, lines(tree.Blockers(nil))), "blockers (-want +got)")
	remarks := tree.Remarks(&spec, nil)
	assert.Empty(t, remarks, "remarks: got %v, want none", remarks)
}

func TestATopologyThatMakesNoSenseHoldsItsGangsBack(t *testing.T) {
	spec := groups(constrained(leaf("a", 1, ""), "network", "zone", ""))
	tree, errs := podgrouptree.New(&spec)
	require.Empty(t, errs)
	for name, c := range map[string]struct {
		levels []string
		want   string
	}{
		"no level":      {nil, "there are none"},
		"a level twice": {[]string{"zone", "rack", "zone"}, `"zone" stands there twice`},
		"the host above others": {[]string{"kubernetes.io/hostname", "rack", "x/numa"},
			"kubernetes.io/hostname must be the narrowest, unless a numa level follows it"},
		"two levels below the host": {[]string{"zone", "kubernetes.io/hostname", "x/numa", "y/numa"},
			"kubernetes.io/hostname must be the narrowest, unless a numa level follows it"},
		"a level of nodes below the host": {[]string{"zone", "kubernetes.io/hostname", "rack"},
			"kubernetes.io/hostname must be the narrowest, unless a numa level follows it"},
		"the host and its NUMA zone": {[]string{"zone", "kubernetes.io/hostname", "x/numa"}, ""},
		"the host at the end":        {[]string{"zone", "kubernetes.io/hostname"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = []string{
					`spec.subGroups[0].topologyConstraint.topology: Invalid value: "network": the spec.levels of this Topology are wrong: ` + c.want,
				}
			}
			found := tree.Blockers(func(string) (podgrouptree.Hierarchy, bool) { return hierarchy(c.levels...), true })
			assert.Empty(t, cmp.Diff(want, lines(found)), "blockers (-want +got)")
		})
	}
}

func TestAdviceIsSilentOnLevelsOfDifferentTopologies(t *testing.T) {
	spec := groups(
		constrained(parent("p", ""), "ethernet", "rack", ""),
		constrained(leaf("a", 1, "p"), "network", "zone", ""))
	everywhere := func(string) (podgrouptree.Hierarchy, bool) {
		return podgrouptree.Hierarchy{{Key: "zone"}, {Key: "block"}, {Key: "rack"}}, true
	}
	tree, errs := podgrouptree.New(&spec)
	require.Empty(t, errs)
	assert.Empty(t, tree.Remarks(&spec, everywhere))
}

func TestTree(t *testing.T) {
	spec := groups(
		leaf("prefill", 3, "workers"), parentNeeding(1, "workers", ""), leaf("decode", 5, "workers"),
		leaf("frontend", 1, ""))
	tree, errs := podgrouptree.New(&spec)
	require.Empty(t, errs)
	got, want := names(tree.Groups()), []string{"", "prefill", "workers", "decode",
		"frontend"}
	assert.True(t, cmp.Equal(got, want), "groups: got %q, want %q", got, want)
	got, want = names(tree.Leaves()), []string{"prefill", "decode", "frontend"}
	assert.True(t, cmp.Equal(got, want), "leaves: got %q, want %q", got, want)
	got, want = names(tree.Group("workers").Children), []string{"prefill", "decode"}
	assert.True(t, cmp.Equal(got, want), "children of workers: got %q, want %q", got, want)
	if tree.Leaf("workers") != nil || tree.Leaf("nobody") != nil || tree.Leaf("decode") != tree.Group("decode") {
		t.Error("Leaf must return leaves, and only those")
	}
	if got := tree.Root.MinPods(); got != 4 {
		t.Errorf("the root needs %d pods, want 4: the frontend's one and prefill's three, the cheaper of the workers",
			got)
	}
	assert.EqualValues(t, 2, tree.Root.MinSubGroup, "the root needs %d children, want both", tree.Root.MinSubGroup)
}

func TestSatisfied(t *testing.T) {
	spec := groups(parentNeeding(1, "workers", ""), leaf("prefill", 3, "workers"), leaf("decode", 5, "workers"),
		leaf("frontend", 1, ""))
	tree, errs := podgrouptree.New(&spec)
	require.Empty(t, errs)
	cases := map[string]struct {
		pods map[string]int
		want bool
	}{
		"one of two workers is enough":         {pods: map[string]int{"decode": 5, "frontend": 1}, want: true},
		"no pods in a group cannot make it up": {pods: map[string]int{"decode": 9, "prefill": 9}},
		"one short in both":                    {pods: map[string]int{"decode": 4, "prefill": 2, "frontend": 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := tree.Root.Satisfied(func(leaf *podgrouptree.Group) int { return c.pods[leaf.Name] })
			assert.Equal(t, c.want, got)
		})
	}
}

func lines(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return lines
}

func names(groups []*podgrouptree.Group) []string {
	var names []string
	for _, group := range groups {
		names = append(names, group.Name)
	}
	return names
}

package podgrouptree_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/relations"
)

func written(annotation string) map[string]string {
	return map[string]string{scheduling.AnnotationRelations: annotation}
}

func TestRelationsAreReadAsTheyAreWritten(t *testing.T) {
	no := false
	for annotation, want := range map[string][]relations.Relation{
		`[]`: {},
		`[{"name":"prefill-apart","subGroups":["prefill-0","prefill-1"],"level":"example.com/rack","maxPerDomain":1}]`: {
			{Name: "prefill-apart", SubGroups: []string{"prefill-0", "prefill-1"}, Level: "example.com/rack",
				MaxPerDomain: 1},
		},
		`[{"name":"a","podsOf":"decode","topology":"gpu","level":"zone","maxPercentPerDomain":34,"required":false}]`: {
			{Name: "a", PodsOf: "decode", Topology: "gpu", Level: "zone", MaxPercentPerDomain: 34, Required: &no},
		},
		`[{"name":"a","gangs":"llm","level":"zone","even":true,"required":false}]`: {
			{Name: "a", Gangs: "llm", Level: "zone", Even: true, Required: &no},
		},
		`[{"name":"a","subGroups":["copy-0"],"gangs":"copies","level":"rack","maxPerDomain":1}]`: {
			{Name: "a", SubGroups: []string{"copy-0"}, Gangs: "copies", Level: "rack", MaxPerDomain: 1},
		},
		`[{"name":"a","subGroups":["x"],"near":"other","level":"rack"}]`: {
			{Name: "a", SubGroups: []string{"x"}, Near: "other", Level: "rack"},
		},
	} {
		got, wrong := relations.Parse(written(annotation))
		assert.Empty(t, cmp.Diff(want, got), annotation)
		assert.Empty(t, wrong, annotation)
		formatted := relations.Format(want)
		assert.False(t, formatted != annotation && annotation != "[]", "written %s, want %s", formatted, annotation)
	}
	if got, wrong := relations.Parse(nil); got != nil || wrong != nil || relations.Format(got) != "" {
		t.Errorf("without the annotation: %v, %v", got, wrong)
	}
}

func TestWhatIsFormattedIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := relations.Relation{
			Name:  rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "name"),
			Level: rapid.SampledFrom([]string{"zone", "example.com/rack", "<&>"}).Draw(t, "level"),
		}
		count := rapid.Int32Range(1, 100).Draw(t, "count")
		switch rapid.IntRange(0, 3).Draw(t, "bound") {
		case 0:
			r.MaxPerDomain = count
		case 1:
			r.MaxPercentPerDomain = count
		case 2:
			r.Even = true
		default:
			r.Near = "other"
		}
		if r.Even || rapid.Bool().Draw(t, "said") {
			required := !r.Even && rapid.Bool().Draw(t, "required")
			r.Required = &required
		}
		got, wrong := relations.Parse(written(relations.Format([]relations.Relation{r})))
		require.Empty(t, cmp.Diff([]relations.Relation{r}, got))
		require.Empty(t, wrong)
	})
}

func TestWhatCannotBeRead(t *testing.T) {
	const at = "metadata.annotations[packtree.dev/relations]"
	for annotation, want := range map[string]string{
		``:                                    at + `: Invalid value: "": must be a JSON list of relations, such as [{`,
		`null`:                                at + `: Invalid value: "null": must be a JSON list`,
		`{"name":"a"}`:                        at + `: Invalid value: "{\"name\":\"a\"}": must be a JSON list`,
		`[] []`:                               at + `: Invalid value: "[] []": must be a JSON list`,
		`[{"name":"a","levl":"zone"}]`:        at + `[0].levl: Invalid value: unknown field, did you mean "level"?`,
		`[{"name":"a"},{"color":1}]`:          at + `[1].color: Invalid value: unknown field`,
		`[{"name":"a","maxPerDomain":"1"}]`:   at + `[0].maxPerDomain: Invalid value: must be a whole number, not "1"`,
		`[{"level":"zone","maxPerDomain":1}]`: at + `[0].name: Required value: messages name the relation by it`,
		`[{"name":"a b","level":"zone","maxPerDomain":1}]`: at +
			`[0].name: Invalid value: "a b": a valid config key`,
		`[{"name":"a","maxPerDomain":1}]`: at +
			`[0].level: Required value: name the node label`,
		`[{"name":"a","level":"zone"}]`: at +
			`[0]: Required value: say what holds of the items, by one of maxPerDomain,`,
		`[{"name":"a","level":"zone","maxPerDomain":-1}]`: at +
			`[0].maxPerDomain: Invalid value: -1: must be at least 1`,
		`[{"name":"a","level":"zone","maxPercentPerDomain":101}]`: at +
			`[0].maxPercentPerDomain: Invalid value: 101: must be at most 100`,
		`[{"name":"a","level":"zone","even":true}]`: at +
			`[0].even: Invalid value: true: can only be preferred: set "required": false, or use maxPerDomain`,
		`[{"name":"a","level":"zone","even":true,"required":false}]`: ``,
		`[{"name":"a","level":"zone","maxPerDomain":2,"even":true,"required":false}]`: at +
			`[0].even: Invalid value: maxPerDomain is set already: write a relation for each`,
		`[{"name":"a","level":"zone","near":"x","gangs":"k"}]`: at +
			`[0].gangs: Invalid value: "k": says nothing beside near`,
		`[{"name":"a","level":"zone","near":"Store 0"}]`: at +
			`[0].near: Invalid value: "Store 0": is no name of a PodGroup: a lowercase RFC 1123 subdomain`,
		`[{"name":"a","level":"zone","near":"x","podsOf":"k"}]`: at +
			`[0].podsOf: Invalid value: "k": near is for groups`,
		`[{"name":"a","level":"zone","maxPerDomain":1,"podsOf":"k","gangs":""}]`: ``,
		`[{"name":"a","level":"zone","maxPerDomain":1,"gangs":"k","item":"x"}]`:  ``,
		`[{"name":"a","level":"zone","maxPerDomain":1,"item":"x"}]`: at +
			`[0].item: Invalid value: "x": is the name of a whole gang`,
		`[{"name":"a","level":"zone","maxPerDomain":1,"gangs":"k","item":"x","subGroups":["s"]}]`: at +
			`[0].item: Invalid value: "x"`,
		`[{"name":"a","level":"zone","maxPerDomain":1,"podsOf":"k","gangs":"x"}]`: at +
			`[0].podsOf: Invalid value: "k": is for pods, and gangs for gangs: only one`,
		`[{"name":"a","level":"zone","maxPerDomain":1,"podsOf":"k","subGroups":["x"]}]`: at +
			`[0].podsOf: Invalid value: "k": is for the pods of one group, and subGroups for groups: only one`,
		`[{"name":"a","level":"zone","maxPerDomain":1,"subGroups":["x","x"]}]`: at +
			`[0].subGroups[1]: Duplicate value: "x"`,
		`[{"name":"a","level":"zone","maxPerDomain":1},{"name":"a","level":"zone","maxPerDomain":1}]`: at +
			`[1].name: Duplicate value: "a"`,
		`["` + strings.Repeat("x", 128<<10) + `"]`: at + `: Too long: may not be more than 131072 bytes`,
	} {
		_, wrong := relations.Parse(written(annotation))
		if got := wrong.ToAggregate(); want == "" && got != nil ||
			want != "" && (got == nil || !strings.Contains(got.Error(), want)) {
			t.Errorf("%.80s:\n got %v\nwant %s", annotation, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	for name, c := range map[string]struct {
		relation relations.Relation
		items    int
		want     int
	}{
		"apart":                      {relations.Relation{MaxPerDomain: 1}, 10, 1},
		"a third of ten, rounded up": {relations.Relation{MaxPercentPerDomain: 34}, 10, 4},
		"a third of three":           {relations.Relation{MaxPercentPerDomain: 34}, 3, 2},
		"exactly a half":             {relations.Relation{MaxPercentPerDomain: 50}, 10, 5},
		"a share of nothing is one":  {relations.Relation{MaxPercentPerDomain: 1}, 0, 1},
		"of many":                    {relations.Relation{MaxPercentPerDomain: 100}, 8192, 8192},
		"evenly sets no maximum":     {relations.Relation{Even: true}, 10, 10},
		"near sets no maximum":       {relations.Relation{Near: "x"}, 10, 10},
		"no items have a limit of 1": {relations.Relation{Even: true}, 0, 1},
	} {
		assert.Equal(t, c.want, c.relation.Limit(c.items), "%s of %d", name, c.items)
	}
}

func sub(name, parent, required string, minMember int32) scheduling.SubGroup {
	group := scheduling.SubGroup{Name: name, Parent: &parent}
	if minMember > 0 {
		group.MinMember = &minMember
	}
	if required != "" {
		group.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "gpu", RequiredTopologyLevel: required}
	}
	return group
}

// serving has two workers of prefill and three of decode, in one zone. Two of decode are needed. Each worker is on
// one host.
func serving() scheduling.PodGroupSpec {
	two := int32(2)
	decode := sub("decode", "", "rack", 0)
	decode.MinSubGroup = &two
	return scheduling.PodGroupSpec{
		TopologyConstraint: &scheduling.TopologyConstraint{Topology: "gpu", RequiredTopologyLevel: "zone"},
		SubGroups: []scheduling.SubGroup{
			sub("prefill", "", "", 0), sub("prefill-0", "prefill", "host", 4), sub("prefill-1", "prefill", "host", 4),
			decode, sub("decode-0", "decode", "", 2), sub("decode-1", "decode", "", 2),
			sub("decode-2", "decode", "", 2),
		},
	}
}

func levels(topology string) (podgrouptree.Hierarchy, bool) {
	return podgrouptree.Hierarchy{{Key: "zone"}, {Key: "rack", Alias: "tor"}, {Key: "host"}}, topology == "gpu"
}

func unknown(string) (podgrouptree.Hierarchy, bool) { return nil, false }

func TestValidate(t *testing.T) {
	const at = "metadata.annotations[packtree.dev/relations]"
	no := false
	cases := map[string]struct {
		relation relations.Relation
		spec     scheduling.PodGroupSpec
		levels   podgrouptree.Levels // Those of levels, if nil.
		blind    bool                // Topologies are not known.
		want     string
	}{
		"workers apart by rack in one zone": {
			relation: relations.Relation{SubGroups: []string{"prefill-0", "prefill-1"}, Level: "rack", MaxPerDomain: 1},
		},
		"a level by its alias": {
			relation: relations.Relation{SubGroups: []string{"prefill-0", "prefill-1"}, Level: "tor", MaxPerDomain: 1},
		},
		"apart by zone in one zone": {
			relation: relations.Relation{SubGroups: []string{"prefill-0", "prefill-1"}, Level: "zone", MaxPerDomain: 1},
			want: at +
				`[0]: Invalid value: "at most 1 per domain of zone": contradicts spec.topologyConstraint.requiredTopologyLevel: ` +
				`"zone", by which 2 of the items stand in one domain: relate them at a narrower level, require a broader one, or set "required": false`,
		},
		"apart by zone in one zone, when Topologies are not known": {
			relation: relations.Relation{SubGroups: []string{"prefill-0", "prefill-1"}, Level: "zone", MaxPerDomain: 1},
			blind:    true,
			want:     "contradicts spec.topologyConstraint.requiredTopologyLevel",
		},
		"preferably apart by zone in one zone": {
			relation: relations.Relation{SubGroups: []string{"prefill-0", "prefill-1"}, Level: "zone", MaxPerDomain: 1,
				Required: &no},
		},
		"of three in one rack two are needed": {
			relation: relations.Relation{SubGroups: []string{"decode-0", "decode-1", "decode-2"}, Level: "tor",
				MaxPerDomain: 1},
			want: `contradicts spec.subGroups[3].topologyConstraint.requiredTopologyLevel: "rack", by which 2 of the items stand in one domain`,
		},
		"two in a rack are enough where two are needed": {
			relation: relations.Relation{SubGroups: []string{"decode-0", "decode-1", "decode-2"}, Level: "rack",
				MaxPerDomain: 2},
		},
		"half of three is two": {
			relation: relations.Relation{SubGroups: []string{"decode-0", "decode-1", "decode-2"}, Level: "rack",
				MaxPercentPerDomain: 50},
		},
		"a third of three is one": {
			relation: relations.Relation{SubGroups: []string{"decode-0", "decode-1", "decode-2"}, Level: "rack",
				MaxPercentPerDomain: 33},
			want: `"at most 33 % per domain of rack": contradicts spec.subGroups[3]`,
		},
		"pods apart by host in one host": {
			relation: relations.Relation{PodsOf: "prefill-0", Level: "host", MaxPerDomain: 1},
			want:     `contradicts spec.subGroups[1].topologyConstraint.requiredTopologyLevel: "host", by which 4 of the items`,
		},
		"pods apart by host in one rack": {relation: relations.Relation{PodsOf: "decode-0", Level: "host",
			MaxPerDomain: 1}},
		"as many in each zone where there is one": {
			relation: relations.Relation{SubGroups: []string{"prefill-0", "prefill-1"}, Level: "zone", Even: true,
				Required: &no},
		},
		"gangs apart by zone": {relation: relations.Relation{Gangs: "llm", Level: "zone", MaxPerDomain: 1}},
		"an item of each gang, by zone": {
			relation: relations.Relation{Gangs: "llm", SubGroups: []string{"decode"}, Level: "zone", MaxPerDomain: 1},
		},
		"items of other gangs may be many": {
			relation: relations.Relation{Gangs: "llm", SubGroups: []string{"prefill-0", "prefill-1"}, Level: "zone",
				MaxPercentPerDomain: 50},
		},
		"two items of each gang, by zone": {
			relation: relations.Relation{Gangs: "llm", SubGroups: []string{"prefill-0", "prefill-1"}, Level: "zone",
				MaxPerDomain: 1},
			want: `by which 2 of the items stand in one domain`,
		},
		"near another gang": {relation: relations.Relation{Near: "other", Level: "rack"}},
		"a group near another gang": {
			relation: relations.Relation{Near: "other", SubGroups: []string{"prefill"}, Level: "rack"},
		},
		"no such group": {
			relation: relations.Relation{SubGroups: []string{"prefil"}, Level: "rack", MaxPerDomain: 1},
			want:     at + `[0].subGroups[0]: Invalid value: "prefil": no subGroup has this name`,
		},
		"the root is no item": {
			relation: relations.Relation{SubGroups: []string{""}, Level: "rack", MaxPerDomain: 1},
			want:     at + `[0].subGroups[0]: Invalid value: "": no subGroup has this name`,
		},
		"an item in another": {
			relation: relations.Relation{SubGroups: []string{"decode-1", "decode"}, Level: "rack", MaxPerDomain: 1},
			want:     at + `[0].subGroups[0]: Invalid value: "decode-1": is inside of "decode", which is in this list too`,
		},
		"pods of no group": {
			relation: relations.Relation{PodsOf: "x", Level: "rack", MaxPerDomain: 1},
			want:     at + `[0].podsOf: Invalid value: "x": no subGroup has this name`,
		},
		"pods of a parent": {
			relation: relations.Relation{PodsOf: "decode", Level: "rack", MaxPerDomain: 1},
			want:     at + `[0].podsOf: Invalid value: "decode": pods belong to groups without groups inside`,
		},
		"pods of a PodGroup with subgroups": {
			relation: relations.Relation{Level: "rack", MaxPerDomain: 1},
			want:     at + `[0]: Required value: name the items in subGroups, podsOf or gangs`,
		},
		"pods of a PodGroup without subgroups": {
			relation: relations.Relation{Topology: "gpu", Level: "rack", MaxPerDomain: 1},
			spec:     scheduling.PodGroupSpec{MinMember: new(int32(3))},
		},
		"a level of no Topology": {
			relation: relations.Relation{Level: "rack", MaxPerDomain: 1},
			spec:     scheduling.PodGroupSpec{MinMember: new(int32(3))},
			want:     at + `[0].topology: Required value: name the Topology that the level belongs to`,
		},
		"a Topology that does not exist": {
			relation: relations.Relation{PodsOf: "decode-0", Level: "rack", MaxPerDomain: 1}, levels: unknown,
			want: at + `[0].topology: Invalid value: "gpu": no Topology has this name`,
		},
		"a level that the Topology does not have": {
			relation: relations.Relation{PodsOf: "decode-0", Level: "row", MaxPerDomain: 1},
			want: at +
				`[0].level: Invalid value: "row": Topology "gpu" has no such level, its levels are: zone, rack (tor), host`,
		},
		"another Topology's levels contradict nothing": {
			relation: relations.Relation{SubGroups: []string{"prefill-0", "prefill-1"}, Topology: "net", Level: "zone",
				MaxPerDomain: 1}, blind: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := c.spec
			if spec.MinMember == nil {
				spec = serving()
			}
			tree, errs := podgrouptree.New(&spec)
			require.Empty(t, errs)
			c.relation.Name = "a"
			known := podgrouptree.Levels(levels)
			if c.levels != nil {
				known = c.levels
			}
			if c.blind {
				known = nil
			}
			got := relations.Validate([]relations.Relation{c.relation}, tree, known).ToAggregate()
			if c.want == "" && got != nil || c.want != "" && (got == nil || !strings.Contains(got.Error(), c.want)) {
				t.Errorf("got %v\nwant %s", got, c.want)
			}
		})
	}
}

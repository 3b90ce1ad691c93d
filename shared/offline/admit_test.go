package offline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/offline"
)

const header = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: t}\nspec:\n"

func admitTopology(
	t *testing.T, spec string, admission offline.Admission[*grovev1alpha1.ClusterTopology],
) (*grovev1alpha1.ClusterTopology, []string) {
	t.Helper()
	documents, findings := manifests.Parse("f", []byte(header+spec))
	require.Empty(t, findings, "the test's own manifest is malformed")
	topology := &grovev1alpha1.ClusterTopology{}
	var lines []string
	for _, finding := range offline.Admit(documents[0], topology, admission) {
		lines = append(lines, finding.String())
	}
	return topology, lines
}

func TestAdmitChecksTheSchema(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"a right one has no findings": {
			spec: "  levels: [{domain: zone, key: example.com/zone}, {domain: rack, key: example.com/rack}]",
		},
		"an unknown field": {
			spec: "  levels: [{domain: zone, key: example.com/zone, lable: x}]",
			want: []string{"spec.levels[0].lable: unknown field"},
		},
		"a value outside of the enumeration": {
			spec: "  levels: [{domain: aisle, key: example.com/aisle}]",
			want: []string{"spec.levels[0].domain: Unsupported value: \"aisle\""},
		},
		"a value of the wrong type, with the index": {
			spec: "  levels: [{domain: zone, key: example.com/zone}, {domain: rack, key: 7}]",
			want: []string{"spec.levels[1].key: must be a string, in quotes, not 7"},
		},
		"an unknown field, a wrong type and what the schema alone knows": {
			spec: "  levels: [{domain: aisle, key: example.com/zone, lable: x}, {domain: rack, key: 7}]",
			want: []string{
				"spec.levels[1].key: must be a string, in quotes, not 7", "spec.levels[0].lable: unknown field",
				"spec.levels[0].domain: Unsupported value: \"aisle\"",
			},
		},
		"a value that no schema takes either is told of once": {
			spec: "  levels: [{domain: zone, key: example.com/zone}]\nstatus: {observedGeneration: 1.5, inUse: 99999999999}",
			want: []string{
				"status.inUse: must be a whole number from -2147483648 to 2147483647, not 99999999999",
				"status.observedGeneration: must be a whole number",
			},
		},
		"a value out of its bounds, whose field is named once": {
			spec: "  levels: [{domain: zone, key: ''}]",
			want: []string{`spec.levels[0].key: Invalid value: "": should `},
		},
		"a rule in CEL": {
			spec: "  levels: [{domain: zone, key: example.com/zone}, {domain: zone, key: example.com/rack}]",
			want: []string{"spec.levels: Invalid value"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, lines := admitTopology(t, c.spec, offline.Admission[*grovev1alpha1.ClusterTopology]{})
			require.Len(t, lines, len(c.want), "findings %q, want %q", lines, c.want)
			for i, want := range c.want {
				prefix := "f[1]: ClusterTopology t: " + want
				assert.True(t, strings.HasPrefix(lines[i], prefix), "finding %q, want it to start with %q", lines[i], prefix)
			}
		})
	}
}

// TestAdmitChecksMetadata compares with what an API server says of the same.
func TestAdmitChecksMetadata(t *testing.T) {
	const subdomain = "a lowercase RFC 1123 subdomain must consist of"
	long := strings.Repeat("x", 254)
	for name, c := range map[string]struct {
		kind, metadata string
		want           []string
	}{
		"a dotted name":                  {"PodGroup", "{name: a.b-1}", nil},
		"no namespace":                   {"PodGroup", "{name: a}", nil},
		"a generated name":               {"PodGroup", "{generateName: a-}", nil},
		"a namespace of what needs none": {"Topology", "{name: a, namespace: Team_A}", nil},
		"owners that have no UID": {
			"PodGroup", "{name: a, ownerReferences: [{apiVersion: v1, kind: Pod, name: b, uid: ''}]}", nil,
		},
		"a name": {
			"PodGroup", "{name: Odd_1}", []string{`metadata.name: Invalid value: "Odd_1": ` + subdomain},
		},
		"a name that is long": {"Topology", "{name: " + long + "}", []string{"metadata.name: Invalid value: "}},
		"what is left of a name": {
			"PodGroup", "{generateName: team-ä-}", []string{`metadata.generateName: Invalid value: "team-ä-": ` + subdomain},
		},
		"a namespace": {
			"PodGroup", "{name: a, namespace: a.b}", []string{`metadata.namespace: Invalid value: "a.b": must not contain dots`},
		},
		"a label": {
			"Topology", "{name: a, labels: {team: a/b}}",
			[]string{`metadata.labels: Invalid value: "a/b": a valid label must be`},
		},
		"an annotation": {
			"PodGroup", "{name: a, annotations: {a/b/c: d}}",
			[]string{`metadata.annotations: Invalid value: "a/b/c": a valid label key must consist of`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := map[string]string{
				"PodGroup": "apiVersion: scheduling.run.ai/v2alpha2\nspec: {minMember: 1}",
				"Topology": "apiVersion: kai.scheduler/v1alpha1\nspec: {levels: [{nodeLabel: rack}]}",
			}
			manifest := kinds[c.kind] + "\nkind: " + c.kind + "\nmetadata: " + c.metadata
			documents, findings := manifests.Parse("f", []byte(manifest))
			require.Empty(t, findings)
			if c.kind == "PodGroup" {
				findings = offline.Admit(documents[0], &scheduling.PodGroup{}, offline.Admission[*scheduling.PodGroup]{})
			} else {
				findings = offline.Admit(documents[0], &kai.Topology{}, offline.Admission[*kai.Topology]{})
			}
			require.Len(t, findings, len(c.want), "findings %v, want %q", findings, c.want)
			for i, want := range c.want {
				got := findings[i].Path + ": " + findings[i].Reason
				assert.True(t, strings.HasPrefix(got, want), "finding %q, want it to start with %q", got, want)
			}
		})
	}
}

func TestAdmitAsksTheWebhook(t *testing.T) {
	admission := offline.Admission[*grovev1alpha1.ClusterTopology]{
		Default: func(topology *grovev1alpha1.ClusterTopology) {
			topology.Spec.Levels = []grovev1alpha1.TopologyLevel{{Domain: "rack", Key: "example.com/rack"}}
		},
		Validate: func(_ *grovev1alpha1.ClusterTopology) ([]string, field.ErrorList) {
			return []string{"is odd"}, field.ErrorList{field.Invalid(field.NewPath("spec"), "x", "is wrong")}
		},
	}
	topology, lines := admitTopology(t, "  levels: [{domain: zone, key: example.com/zone, lable: x}]", admission)
	want := []string{
		"f[1]: ClusterTopology t: spec.levels[0].lable: unknown field",
		`f[1]: ClusterTopology t: spec: Invalid value: "x": is wrong`,
		"f[1]: ClusterTopology t: warning: is odd",
	}
	assert.Empty(t, cmp.Diff(want, lines), "findings (-want +got)")
	assert.EqualValues(t, "rack", topology.Spec.Levels[0].Domain,
		"the webhook's default was lost: %v", topology.Spec.Levels)
}

func TestAdmitDoesNotMissWhatIsMisspelt(t *testing.T) {
	admission := offline.Admission[*grovev1alpha1.ClusterTopology]{
		Validate: func(_ *grovev1alpha1.ClusterTopology) ([]string, field.ErrorList) {
			level := field.NewPath("spec", "levels").Index(0)
			return nil, field.ErrorList{
				field.Required(level.Child("label"), "is missing"),
				field.Invalid(level.Child("key"), "x", "is wrong"),
				field.Required(field.NewPath("spec", "other"), "is missing"),
			}
		},
	}
	_, lines := admitTopology(t, "  levels: [{domain: zone, key: example.com/zone, lable: x}]", admission)
	want := []string{
		"f[1]: ClusterTopology t: spec.levels[0].lable: unknown field",
		`f[1]: ClusterTopology t: spec.levels[0].key: Invalid value: "x": is wrong`,
		"f[1]: ClusterTopology t: spec.other: Required value: is missing",
	}
	assert.Empty(t, cmp.Diff(want, lines), "findings (-want +got)")
}

func TestAdmitAsksTheSchemaOnlyAboutWhatTheWebhookLetsThrough(t *testing.T) {
	var says field.ErrorList
	admission := offline.Admission[*grovev1alpha1.ClusterTopology]{
		Judge: func(*grovev1alpha1.ClusterTopology) field.ErrorList { return says },
	}
	const twice = "  levels: [{domain: zone, key: example.com/zone, lable: x}, {domain: zone, key: example.com/rack}]"
	for want, errs := range map[string]field.ErrorList{
		`spec.levels: Invalid value: domain must be unique`: nil,
		`spec.levels[1].domain: Duplicate value: "zone"`: {
			field.Duplicate(field.NewPath("spec", "levels").Index(1).Child("domain"), "zone"),
		},
	} {
		says = errs
		_, lines := admitTopology(t, twice, admission)
		if len(lines) != 2 || !strings.HasSuffix(lines[0], "spec.levels[0].lable: unknown field") ||
			!strings.HasPrefix(lines[1], "f[1]: ClusterTopology t: "+want) {
			t.Errorf("findings %q, want the unknown field and %s", lines, want)
		}
	}
}

func TestAdmitRefusesAVersionThatDoesNotExist(t *testing.T) {
	documents, _ := manifests.Parse("f", []byte(strings.Replace(header, "v1alpha1", "v9", 1)+"  levels: []"))
	findings := offline.Admit(documents[0], &grovev1alpha1.ClusterTopology{},
		offline.Admission[*grovev1alpha1.ClusterTopology]{})
	require.Len(t, findings, 1)
	assert.Equal(t, "apiVersion", findings[0].Path)
}

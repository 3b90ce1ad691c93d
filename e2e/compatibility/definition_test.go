package compatibility_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"packtree.dev/shared/definitions"
)

type (
	definition = apiextensionsv1.CustomResourceDefinition
	schema     = apiextensionsv1.JSONSchemaProps
)

// installed are all definitions; reading them takes a while.
var installed = sync.OnceValues(definitions.All)

// today is one of the definitions that the charts install.
func today(t *testing.T, name string) *definition {
	t.Helper()
	all, err := installed()
	require.NoError(t, err)
	at := slices.IndexFunc(all, func(d *definition) bool { return d.Name == name })
	if at < 0 {
		t.Fatalf("there is no definition %s", name)
	}
	return all[at].DeepCopy()
}

// change changes the schema at a path of the first version: fields by name, "[]" for items, "{}" for entries.
func change(path string, how func(*schema)) func(*definition) {
	return func(d *definition) {
		changed := changedAt(*d.Spec.Versions[0].Schema.OpenAPIV3Schema,
			strings.FieldsFunc(path, func(r rune) bool { return r == '.' }), how)
		d.Spec.Versions[0].Schema.OpenAPIV3Schema = &changed
	}
}

func changedAt(s schema, path []string, how func(*schema)) schema {
	s = *s.DeepCopy()
	if len(path) == 0 {
		how(&s)
		return s
	}
	switch path[0] {
	case "[]":
		below := changedAt(*s.Items.Schema, path[1:], how)
		s.Items.Schema = &below
	case "{}":
		below := changedAt(*s.AdditionalProperties.Schema, path[1:], how)
		s.AdditionalProperties.Schema = &below
	default:
		property, there := s.Properties[path[0]]
		if !there {
			panic("no field " + path[0])
		}
		s.Properties[path[0]] = changedAt(property, path[1:], how)
	}
	return s
}

func set[T any](value T) *T { return &value }

// Each of these changes affects users with objects or manifests for the earlier definition.
func TestWhatHurtsIsABreak(t *testing.T) {
	for name, test := range map[string]struct {
		definition string
		mutate     func(*definition)
		where      string
		what       string
	}{
		"a field is gone": {
			"podcliquesets.grove.io", change("spec", func(s *schema) { delete(s.Properties, "replicas") }),
			"podcliquesets.grove.io v1alpha1.spec.replicas", "the field is gone",
		},
		"a field of status is gone, deep down": {
			"podgroups.scheduling.run.ai",
			change("status.subGroups.[]", func(s *schema) { delete(s.Properties, "domains") }),
			"podgroups.scheduling.run.ai v2alpha2.status.subGroups[].domains", "the field is gone",
		},
		"a type is another one": {
			"podcliquesets.grove.io", change("spec.replicas", func(s *schema) { s.Type = "string" }),
			"podcliquesets.grove.io v1alpha1.spec.replicas", "its type was integer and is string",
		},
		"a field is required now": {
			"clustertopologies.grove.io", change("spec", func(s *schema) {
				s.Properties["owner"] = schema{Type: "string"}
				s.Required = append(s.Required, "owner")
			}),
			"clustertopologies.grove.io v1alpha1.spec", "owner is required now",
		},
		"a value is gone from an enum": {
			"clustertopologies.grove.io", change("spec.levels.[].domain", func(s *schema) { s.Enum = s.Enum[1:] }),
			"clustertopologies.grove.io v1alpha1.spec.levels[].domain", "is no longer taken",
		},
		"only some values are taken": {
			"podcliquesets.grove.io",
			change("spec.replicas", func(s *schema) { s.Enum = []apiextensionsv1.JSON{{Raw: []byte("1")}} }),
			"podcliquesets.grove.io v1alpha1.spec.replicas", "only certain values",
		},
		"a list may be shorter only": {
			"clustertopologies.grove.io", change("spec.levels", func(s *schema) { s.MaxItems = set(int64(3)) }),
			"clustertopologies.grove.io v1alpha1.spec.levels", "greatest number of items fell",
		},
		"a list has to be longer": {
			"clustertopologies.grove.io", change("spec.levels", func(s *schema) { s.MinItems = set(int64(2)) }),
			"clustertopologies.grove.io v1alpha1.spec.levels", "least number of items rose",
		},
		"a number has to be larger": {
			"podcliquesets.grove.io", change("spec.replicas", func(s *schema) { s.Minimum = set(2.0) }),
			"podcliquesets.grove.io v1alpha1.spec.replicas", "minimum rose",
		},
		"a number has to be smaller": {
			"podcliquesets.grove.io", change("spec.replicas", func(s *schema) { s.Maximum = set(2.0) }),
			"podcliquesets.grove.io v1alpha1.spec.replicas", "maximum fell",
		},
		"a map takes no entries": {
			"podcliquesets.grove.io", change("spec.template.cliques.[].labels",
				func(s *schema) { s.AdditionalProperties = nil }),
			"podcliquesets.grove.io v1alpha1.spec.template.cliques[].labels", "no longer takes entries",
		},
		"a map takes entries of another type": {
			"podcliquesets.grove.io",
			change("spec.template.cliques.[].labels.{}", func(s *schema) { s.Type = "integer" }),
			"podcliquesets.grove.io v1alpha1.spec.template.cliques[].labels{}", "its type was string and is integer",
		},
		"a pattern is another one": {
			"clustertopologies.grove.io", change("spec.levels.[].key", func(s *schema) { s.Pattern = "^[a-z]+$" }),
			"clustertopologies.grove.io v1alpha1.spec.levels[].key", "another pattern",
		},
		"a rule has come": {
			"clustertopologies.grove.io", change("spec", func(s *schema) {
				s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "size(self.levels) > 1"})
			}),
			"clustertopologies.grove.io v1alpha1.spec", "there is another rule: size(self.levels) > 1",
		},
		"a default is another one": {
			"podcliquesets.grove.io",
			change("spec.replicas", func(s *schema) { s.Default = &apiextensionsv1.JSON{Raw: []byte("3")} }),
			"podcliquesets.grove.io v1alpha1.spec.replicas", "its default was",
		},
		"a list is merged in another way": {
			"podcliquesets.grove.io", change("status.conditions",
				func(s *schema) { s.XListType, s.XListMapKeys = nil, nil }),
			"podcliquesets.grove.io v1alpha1.status.conditions", "merged as map and is as atomic",
		},
		"what was free is described": {
			"dynamographdeployments.nvidia.com", change("spec.services", func(s *schema) {
				s.Properties = map[string]schema{"frontend": {Type: "object"}}
			}),
			"dynamographdeployments.nvidia.com v1alpha1.spec.services", "it was free",
		},
		"a version is gone": {
			"dynamographdeployments.nvidia.com", func(d *definition) { d.Spec.Versions = d.Spec.Versions[1:] },
			"dynamographdeployments.nvidia.com v1alpha1", "the version is gone",
		},
		"a version is no longer served": {
			"dynamographdeployments.nvidia.com", func(d *definition) { d.Spec.Versions[0].Served = false },
			"dynamographdeployments.nvidia.com v1alpha1", "no longer served",
		},
		"the status subresource is gone": {
			"podgroups.scheduling.run.ai", func(d *definition) { d.Spec.Versions[0].Subresources = nil },
			"podgroups.scheduling.run.ai v2alpha2", "status subresource",
		},
		"the scale subresource reads another field": {
			"podcliques.grove.io",
			func(d *definition) { d.Spec.Versions[0].Subresources.Scale.SpecReplicasPath = ".spec.minAvailable" },
			"podcliques.grove.io v1alpha1", "scale subresource",
		},
		"a short name is gone": {
			"podcliquesets.grove.io", func(d *definition) { d.Spec.Names.ShortNames = nil },
			"podcliquesets.grove.io", "short name pcs is gone",
		},
		"the scope is another one": {
			"clustertopologies.grove.io", func(d *definition) { d.Spec.Scope = "Namespaced" },
			"clustertopologies.grove.io", "the scope was Cluster and is Namespaced",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := today(t, test.definition), today(t, test.definition)
			test.mutate(after)
			found := breaksOf(before, after)
			if !slices.ContainsFunc(found,
				func(b broken) bool { return b.Where == test.where && strings.Contains(b.What, test.what) }) {
				t.Errorf("want a break at %s that says %q, got %v", test.where, test.what, found)
			}
		})
	}
}

func TestWhatWasNullMayBeNull(t *testing.T) {
	before, after := today(t, "podcliquesets.grove.io"), today(t, "podcliquesets.grove.io")
	change("spec.replicas", func(s *schema) { s.Nullable = true })(before)
	want := []broken{{"podcliquesets.grove.io v1alpha1.spec.replicas", "it can no longer be null"}}
	if found := breaksOf(before, after); !slices.Equal(found, want) {
		t.Errorf("breaks %v, want %v", found, want)
	}
	if found := breaksOf(after, before); len(found) > 0 {
		t.Errorf("what may be null now breaks %v", found)
	}
}

func TestWhatHurtsNobodyIsNoBreak(t *testing.T) {
	for name, test := range map[string]struct {
		definition string
		mutate     func(*definition)
	}{
		"nothing is different": {"podcliquesets.grove.io", func(*definition) {}},
		"a field has come": {"podcliquesets.grove.io", change("spec", func(s *schema) {
			s.Properties["paused"] = schema{Type: "boolean"}
		})},
		"a field has come that is required and has a default": {"podcliquesets.grove.io", change("spec", func(
			s *schema) {
			s.Properties["paused"] = schema{Type: "boolean", Default: &apiextensionsv1.JSON{Raw: []byte("false")}}
			s.Required = append(s.Required, "paused")
		})},
		"a value has come to an enum": {"clustertopologies.grove.io", change("spec.levels.[].domain", func(s *schema) {
			s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(`"cage"`)})
		})},
		"a rule is gone": {"clustertopologies.grove.io", change("spec", func(s *schema) { s.XValidations = nil })},
		"a description is another one": {"podcliquesets.grove.io", change("spec.replicas", func(s *schema) {
			s.Description = "How many there are."
		})},
		"a list may be longer": {"clustertopologies.grove.io",
			change("spec.levels", func(s *schema) { s.MaxItems = nil })},
		"a version has come": {"podcliquesets.grove.io", func(d *definition) {
			next := *d.Spec.Versions[0].DeepCopy()
			next.Name = "v1beta1"
			d.Spec.Versions = append(d.Spec.Versions, next)
		}},
		"a column has gone": {"podcliquesets.grove.io",
			func(d *definition) { d.Spec.Versions[0].AdditionalPrinterColumns = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := today(t, test.definition), today(t, test.definition)
			test.mutate(after)
			if found := breaksOf(before, after); len(found) > 0 {
				t.Errorf("breaks %v", found)
			}
		})
	}
}

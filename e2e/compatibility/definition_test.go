package compatibility_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"packtree.dev/shared/definitions"
)

type definition = apiextensionsv1.CustomResourceDefinition

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

// changed is a definition after changes, one a line: an operation of RFC 6902, a path below one in the form of a
// break's Where, and a value.
func changed(t *testing.T, before *definition, where, changes string) *definition {
	t.Helper()
	_, below, _ := strings.Cut(where, " ")
	version, field, _ := strings.Cut(below, ".")
	base := ""
	if version != "" {
		base = "/spec/versions/0"
	}
	if field != "" {
		base += "/schema/openAPIV3Schema/properties/" + strings.NewReplacer(
			"[].", "/items/properties/", "{}", "/additionalProperties", ".", "/properties/").Replace(field)
	}
	var operations []map[string]any
	for change := range strings.Lines(changes) {
		words := strings.SplitN(strings.TrimSpace(change), " ", 3)
		operation := map[string]any{"op": words[0], "path": base + strings.TrimPrefix(words[1], ".")}
		if len(words) == 3 {
			operation["value"] = json.RawMessage(words[2])
		}
		operations = append(operations, operation)
	}
	text, err := json.Marshal(operations)
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(text)
	require.NoError(t, err)
	text, err = json.Marshal(before)
	require.NoError(t, err)
	text, err = patch.Apply(text)
	require.NoError(t, err)
	after := &definition{}
	require.NoError(t, json.Unmarshal(text, after))
	return after
}

// TestBreaks changes definitions of today. A change that affects users with objects or manifests for the earlier one is
// a break at its place; the others are none.
func TestBreaks(t *testing.T) {
	for name, test := range map[string]struct{ where, changes, what string }{
		"a field is gone": {"podcliquesets.grove.io v1alpha1.spec.replicas", "remove .", "the field is gone"},
		"a field of status is gone, deep down": {
			"podgroups.scheduling.run.ai v2alpha2.status.subGroups[].domains", "remove .", "the field is gone",
		},
		"a type is another one": {"podcliquesets.grove.io v1alpha1.spec.replicas", `replace /type "string"`,
			"its type was integer and is string"},
		"a field is required now": {"clustertopologies.grove.io v1alpha1.spec",
			`add /properties/owner {"type":"string"}` + "\n" + `add /required/- "owner"`, "owner is required now"},
		"a value is gone from an enum": {"clustertopologies.grove.io v1alpha1.spec.levels[].domain", "remove /enum/0",
			"is no longer taken"},
		"only some values are taken": {"podcliquesets.grove.io v1alpha1.spec.replicas", "add /enum [1]",
			"only certain values"},
		"a list may be shorter only": {"clustertopologies.grove.io v1alpha1.spec.levels", "add /maxItems 3",
			"greatest number of items fell"},
		"a list has to be longer": {"clustertopologies.grove.io v1alpha1.spec.levels", "add /minItems 2",
			"least number of items rose"},
		"a number has to be larger":  {"podcliquesets.grove.io v1alpha1.spec.replicas", "add /minimum 2", "minimum rose"},
		"a number has to be smaller": {"podcliquesets.grove.io v1alpha1.spec.replicas", "add /maximum 2", "maximum fell"},
		"a map takes no entries": {"podcliquesets.grove.io v1alpha1.spec.template.cliques[].labels",
			"remove /additionalProperties", "no longer takes entries"},
		"a map takes entries of another type": {"podcliquesets.grove.io v1alpha1.spec.template.cliques[].labels{}",
			`replace /type "integer"`, "its type was string and is integer"},
		"a pattern is another one": {"clustertopologies.grove.io v1alpha1.spec.levels[].key",
			`add /pattern "^[a-z]+$"`, "another pattern"},
		"a rule has come": {"clustertopologies.grove.io v1alpha1.spec.levels",
			`add /x-kubernetes-validations/- {"rule":"size(self) > 1"}`, "there is another rule: size(self) > 1"},
		"a default is another one": {"podcliquesets.grove.io v1alpha1.spec.replicas", "add /default 3",
			"its default was"},
		"a list is merged in another way": {"podcliquesets.grove.io v1alpha1.status.conditions",
			"remove /x-kubernetes-list-type\nremove /x-kubernetes-list-map-keys", "merged as map and is as atomic"},
		"what was free is described": {"dynamographdeployments.nvidia.com v1alpha1.spec.services",
			`add /properties {"frontend":{"type":"object"}}`, "it was free"},
		"a version is gone": {"dynamographdeployments.nvidia.com v1alpha1", "remove .", "the version is gone"},
		"a version is no longer served": {"dynamographdeployments.nvidia.com v1alpha1", "replace /served false",
			"no longer served"},
		"the status subresource is gone": {"podgroups.scheduling.run.ai v2alpha2", "remove /subresources",
			"status subresource"},
		"the scale subresource reads another field": {"podcliques.grove.io v1alpha1",
			`replace /subresources/scale/specReplicasPath ".spec.minAvailable"`, "scale subresource"},
		"a short name is gone": {"podcliquesets.grove.io", "remove /spec/names/shortNames",
			"short name pcs is gone"},
		"the scope is another one": {"clustertopologies.grove.io", `replace /spec/scope "Namespaced"`,
			"the scope was Cluster and is Namespaced"},

		"a field has come": {"podcliquesets.grove.io v1alpha1.spec", `add /properties/paused {"type":"boolean"}`, ""},
		"a field has come that is required and has a default": {"podcliquesets.grove.io v1alpha1.spec",
			`add /properties/paused {"type":"boolean","default":false}` + "\n" + `add /required/- "paused"`, ""},
		"a value has come to an enum": {"clustertopologies.grove.io v1alpha1.spec.levels[].domain",
			`add /enum/- "cage"`, ""},
		"a rule is gone": {"clustertopologies.grove.io v1alpha1.spec.levels", "remove /x-kubernetes-validations", ""},
		"a description is another one": {"podcliquesets.grove.io v1alpha1.spec.replicas",
			`add /description "How many there are."`, ""},
		"a list may be longer": {"clustertopologies.grove.io v1alpha1.spec.levels", "remove /maxItems", ""},
		"a version has come": {"podcliquesets.grove.io",
			`add /spec/versions/- {"name":"v1beta1","served":true,"schema":{"openAPIV3Schema":{"type":"object"}}}`, ""},
		"a column has gone": {"podcliquesets.grove.io v1alpha1", "remove /additionalPrinterColumns", ""},
		"it may be null":    {"podcliquesets.grove.io v1alpha1.spec.replicas", "add /nullable true", ""},
	} {
		t.Run(name, func(t *testing.T) {
			crd, _, _ := strings.Cut(test.where, " ")
			before := today(t, crd)
			found := breaksOf(before, changed(t, before, test.where, test.changes))
			if test.what == "" {
				assert.Empty(t, found)
			} else if !slices.ContainsFunc(found,
				func(b broken) bool { return b.Where == test.where && strings.Contains(b.What, test.what) }) {
				t.Errorf("want a break at %s that says %q, got %v", test.where, test.what, found)
			}
		})
	}
}

func TestWhatWasNullMayBeNull(t *testing.T) {
	const where = "podcliquesets.grove.io v1alpha1.spec.replicas"
	after := today(t, "podcliquesets.grove.io")
	assert.Equal(t, []broken{{where, "it can no longer be null"}},
		breaksOf(changed(t, after, where, "add /nullable true"), after))
}

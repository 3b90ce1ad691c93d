package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// TestMetadataOfTemplates: metadata that the API server would refuse on each PodClique, after it accepted the set.
func TestMetadataOfTemplates(t *testing.T) {
	const clique, group = "spec.template.cliques[0]", "spec.template.podCliqueScalingGroups[0]"
	const claim = "spec.template.resourceClaimTemplates[0].templateSpec.metadata"
	const kib = 1 << 10
	for name, c := range map[string]struct {
		labels, annotations, ofGroup, ofClaim map[string]string
		want                                  []string
	}{
		"fine": {map[string]string{"example.com/a": "b"}, map[string]string{"example.com/a": "b c"},
			map[string]string{"a": "b"}, map[string]string{"a": "b"}, nil},
		"a label that is none": {labels: map[string]string{"a b": "c"},
			want: []string{clique + ".labels: " + invalid}},
		"a value that no label has": {labels: map[string]string{"a": "b c"},
			want: []string{clique + ".labels: " + invalid}},
		"an annotation that is none": {annotations: map[string]string{"a b": "c"},
			want: []string{clique + ".annotations: " + invalid}},
		"one of a group that is none": {ofGroup: map[string]string{"a b": "c"},
			want: []string{group + ".annotations: " + invalid}},
		"those of a claim that are none": {ofClaim: map[string]string{"a b": "c"},
			want: []string{claim + ".labels: " + invalid, claim + ".annotations: " + invalid}},
		"as large as fits twice": {annotations: map[string]string{"a": strings.Repeat("x", 119*kib)}},
		"too large to be carried twice": {annotations: map[string]string{"a": strings.Repeat("x", 124*kib)},
			want: []string{clique + ".annotations: " + invalid}},
		"larger when it is written down": {annotations: map[string]string{"a": strings.Repeat("\"", 90*kib)},
			want: []string{clique + ".annotations: " + invalid}},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t,
				manifest("s", "cliques: ["+one("a",
					"replicas: 1")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [a]}], "+
					"resourceClaimTemplates: [{name: c, templateSpec: {spec: {devices: {requests: [{name: r}]}}}}]"))
			set.Spec.Template.Cliques[0].Labels, set.Spec.Template.Cliques[0].Annotations = c.labels, c.annotations
			set.Spec.Template.PodCliqueScalingGroups[0].Annotations = c.ofGroup
			template := &set.Spec.Template.ResourceClaimTemplates[0].TemplateSpec
			template.Labels, template.Annotations = c.ofClaim, c.ofClaim
			admission.SetDefaults(set)
			_, errs := admission.ValidateCreate(set, cluster())
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
		})
	}
}

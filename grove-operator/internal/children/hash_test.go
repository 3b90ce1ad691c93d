package children_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const podTemplateManifest = `
metadata: {name: s}
spec:
  template:
    cliques:
      - {name: a, labels: {x: y1}, spec: {podSpec: {containers: [{name: main, image: "a:1"}]}}}
      - {name: b, spec: {podSpec: {containers: [{name: main, image: "b:1"}]}}}
`

func TestOfSet(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*grovev1alpha1.PodCliqueSet)
		changes bool
	}{
		"the order of cliques does not count": {
			change: func(set *grovev1alpha1.PodCliqueSet) { slices.Reverse(set.Spec.Template.Cliques) },
		},
		"replicas do not count": {change: func(set *grovev1alpha1.PodCliqueSet) {
			set.Spec.Replicas, set.Spec.Template.Cliques[0].Spec.Replicas = 7, 7
		}},
		"the order of startup does not count": {change: func(set *grovev1alpha1.PodCliqueSet) {
			set.Spec.Template.CliqueStartupType = grovev1alpha1.CliqueStartupTypeInOrder
		}},
		"the pods' template counts": {changes: true, change: func(set *grovev1alpha1.PodCliqueSet) {
			set.Spec.Template.Cliques[0].Spec.PodSpec.Containers[0].Image = "a:2"
		}},
		"the pods' labels count": {changes: true,
			change: func(set *grovev1alpha1.PodCliqueSet) { set.Spec.Template.Cliques[0].Labels["x"] = "z" }},
		"the pods' annotations count": {changes: true, change: func(set *grovev1alpha1.PodCliqueSet) {
			set.Spec.Template.Cliques[0].Annotations = map[string]string{"x": "z"}
		}},
		"the priority counts": {changes: true,
			change: func(set *grovev1alpha1.PodCliqueSet) { set.Spec.Template.PriorityClassName = "high" }},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, podTemplateManifest)
			before := podtemplate.HashOfSet(set)
			c.change(set)
			changed := podtemplate.HashOfSet(set) != before
			assert.Equal(t, c.changes, changed, "hash changed")
		})
	}
}

// TestHashesAreStable fails when a newer operator would replace every pod of every set.
func TestHashesAreStable(t *testing.T) {
	set := fixture.Set(t, podTemplateManifest)
	got, want := podtemplate.HashOfSet(set), "c6f64c8cfdf4dcfc596"
	assert.Equal(t, want, got, "hash")
}

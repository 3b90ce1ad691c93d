package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// setOf is a set in which the whole template, and nothing else, depends on a version. The user's labels have names
// that the operator uses on PodCliques itself.
func setOf(t *testing.T, version string) *grovev1alpha1.PodCliqueSet {
	t.Helper()
	set := fixture.Set(t, `
metadata: {name: s, uid: s}
spec: {template: {cliques: [{name: a, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x}]}}}]}}
`)
	clique := &set.Spec.Template.Cliques[0]
	clique.Labels = map[string]string{"app.kubernetes.io/name": "name-" + version, "only-in-" + version: ""}
	clique.Annotations = map[string]string{grovev1alpha1.AnnotationTemplateReplicas: "theirs-" + version,
		"only-in-" + version: ""}
	clique.Spec.PodSpec.Containers[0].Image = version
	set.Spec.Template.PriorityClassName = version
	return set
}

func podCliqueOf(set *grovev1alpha1.PodCliqueSet) *grovev1alpha1.PodClique {
	return children.PodClique(set, layout.Standalone(set, 0)[0], nil)
}

func TestAPodCliqueCarriesItsTemplate(t *testing.T) {
	set := setOf(t, "one")
	carried, ok := podtemplate.In(podCliqueOf(set))
	require.True(t, ok, "carried: %v (-set +PodClique)", ok)
	assert.Empty(t, cmp.Diff(podtemplate.Of(set, &set.Spec.Template.Cliques[0]), carried),
		"carried: %v (-set +PodClique)", ok)
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		live    func(*grovev1alpha1.PodClique) *grovev1alpha1.PodClique
		reached bool
		want    string
	}{
		"what is not there yet is made from the set's template": {
			live: func(*grovev1alpha1.PodClique) *grovev1alpha1.PodClique { return nil }, want: "two",
		},
		"what an update has reached gets the set's":    {reached: true, want: "two"},
		"what an update has not reached keeps its own": {want: "one"},
		"what others added to a PodClique is in no template": {want: "one",
			live: func(live *grovev1alpha1.PodClique) *grovev1alpha1.PodClique {
				live.Labels["theirs"], live.Annotations["theirs"] = "", ""
				return live
			}},
		"what an older operator did not write down is not kept": {want: "two",
			live: func(live *grovev1alpha1.PodClique) *grovev1alpha1.PodClique {
				delete(live.Annotations, grovev1alpha1.AnnotationPodTemplate)
				return live
			}},
		"what a user garbled is not kept": {want: "two",
			live: func(live *grovev1alpha1.PodClique) *grovev1alpha1.PodClique {
				live.Annotations[grovev1alpha1.AnnotationPodTemplate] = "{"
				return live
			}},
	} {
		t.Run(name, func(t *testing.T) {
			live := podCliqueOf(setOf(t, "one"))
			if c.live != nil {
				live = c.live(live)
			}
			now, want := setOf(t, "two"), setOf(t, c.want)
			got := podtemplate.Next(now, &now.Spec.Template.Cliques[0], live, c.reached)
			assert.Empty(t, cmp.Diff(podtemplate.Of(want, &want.Spec.Template.Cliques[0]), got),
				"template (-want +got)")
		})
	}
}

// TestTheHashOfAnOlderOperatorIsKept as long as the template is what it was, whether an update is under way or not.
func TestTheHashOfAnOlderOperatorIsKept(t *testing.T) {
	set := setOf(t, "one")
	clique := &set.Spec.Template.Cliques[0]
	clique.Spec.PodSpec.RestartPolicy = corev1.RestartPolicyAlways // A default that a user wrote out, which once counted.
	known := podtemplate.KnownHashes(set, clique)
	older := known[len(known)-1]
	require.NotEqual(t, known[0], older, "all hashes of the template are alike: %v", known)
	live := podCliqueOf(set)
	live.Labels[grovev1alpha1.LabelPodTemplateHash] = older
	for _, reached := range []bool{true, false} {
		assert.Equal(t, older, podtemplate.Next(set, clique, live, reached).Hash, "reached %v: hash", reached)
	}
	clique.Spec.PodSpec.Containers[0].Image = "another"
	assert.Equal(t, podtemplate.HashOfClique(set, clique), podtemplate.Next(set, clique, live, true).Hash, "hash")
}

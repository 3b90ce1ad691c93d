package admission_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

func TestATopologyOnItsWayOutIsNotChosen(t *testing.T) {
	going, fine := fixture.Topology("going", "zone"), fixture.Topology("fine", "zone")
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	theDefault := fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone")
	theDefault.DeletionTimestamp = going.DeletionTimestamp
	cluster := admission.Cluster{TopologyAware: true, Lookup: fixture.Lookup(going, fine, theDefault)}
	user := func(template string) *grovev1alpha1.PodCliqueSet {
		return fixture.Set(t,
			"metadata: {name: s}\nspec: {replicas: 1, template: {"+template+", cliques: [{name: a, spec: {podSpec: {}}}]}}")
	}
	byName := user("clusterTopologyName: going, topologyConstraint: {packDomain: zone}")
	byConstraint := user("topologyConstraint: {packDomain: zone, topologyName: going}")
	other := user("clusterTopologyName: fine, topologyConstraint: {packDomain: zone}")
	byDefault := user("topologyConstraint: {packDomain: zone}")
	scaled := byName.DeepCopy()
	scaled.Spec.Replicas = 2
	for name, c := range map[string]struct {
		old, set *grovev1alpha1.PodCliqueSet
		want     []string
	}{
		"by name": {set: byName, want: []string{"spec.template.clusterTopologyName: " + invalid}},
		"by a constraint": {set: byConstraint,
			want: []string{"spec.template.topologyConstraint.topologyName: " + invalid}},
		"by a set that turns to it": {old: other, set: byName,
			want: []string{"spec.template.clusterTopologyName: " + invalid}},
		"a set that uses it may go on":   {old: byName, set: scaled},
		"a set that uses it may turn":    {old: byName, set: other},
		"the default one is made anew":   {set: byDefault},
		"another one is as good as ever": {set: other},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := validated(cluster, c.old, c.set, 0)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
		})
	}
}

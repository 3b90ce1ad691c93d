package children_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const sized = `metadata: {name: s}
spec: {replicas: 3, template: {cliques: [{name: a, spec: {replicas: 2}}, {name: b, spec: {replicas: 4}}], podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 5}]}}`

func TestPodsPerReplicaCountsEveryCopyOfAGroup(t *testing.T) {
	assert.Equal(t, int64(2+4*5), layout.PodsPerReplica(fixture.Set(t, sized)))
}

func TestNumbersBeyondAllBoundsDoNotWrapAround(t *testing.T) {
	set := fixture.Set(t, sized)
	largest := int32(math.MaxInt32)
	set.Spec.Replicas = largest
	for i := range set.Spec.Template.Cliques {
		set.Spec.Template.Cliques[i].Spec.Replicas = largest
	}
	set.Spec.Template.PodCliqueScalingGroups[0].Replicas = &largest
	assert.Greater(t, layout.PodsPerReplica(set), int64(layout.MaxPods))
	assert.Zero(t, layout.Replicas(set))
}

func TestReplicasStopAtTheMostPodsOfASet(t *testing.T) {
	for name, c := range map[string]struct{ replicas, pods, want int32 }{
		"a small set":              {3, 2, 3},
		"as many as fit":           {10000, 11, 9090},
		"exactly the most":         {10000, 10, 10000},
		"more than the schema has": {20000, 1, 10000},
		"none":                     {0, 2, 0},
		"a negative number":        {-1, 2, 0},
	} {
		set := fixture.Set(t, "metadata: {name: s}\nspec: {template: {cliques: [{name: a, spec: {replicas: 1}}]}}")
		set.Spec.Replicas, set.Spec.Template.Cliques[0].Spec.Replicas = c.replicas, c.pods
		assert.Equal(t, c.want, layout.Replicas(set), name)
	}
}

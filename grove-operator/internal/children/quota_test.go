package children_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

func TestKueueCountsPodsOfSetsThatNameAQueueAlone(t *testing.T) {
	for labels, counted := range map[string]bool{"": false, "labels: {kueue.x-k8s.io/queue-name: team}": true} {
		set := fixture.Set(t, "metadata: {name: s, "+labels+"}\nspec: {replicas: 1, template: {cliques: "+
			"[{name: a, spec: {replicas: 1, podSpec: {}}}]}}")
		member := layout.Standalone(set, 0)[0]
		pod := pods.Maker{Set: set, Member: member, PodClique: children.PodClique(set, member, nil)}.Make("p", 0)
		keys := slices.AppendSeq(slices.Collect(maps.Keys(pod.Labels)), maps.Keys(pod.Annotations))
		assert.Equal(t, counted, slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, "kueue") }))
	}
}

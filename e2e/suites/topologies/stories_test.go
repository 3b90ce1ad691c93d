package topologies_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// stories of topologies and their users. They run in parallel, each with nodes and topologies of its own; only one may
// use the default topology.
var stories = map[string]func(*world) *features.FeatureBuilder{
	"segments":        segments,
	"retry":           retry,
	"protection":      protection,
	"turns in a race": turnsInARace,
	"levels followed": levelsFollowed,
	"lost topology":   lostTopology,
	"drift":           drift,
	"preferred":       preferred,
}

func TestTopologies(t *testing.T) { runStories(t, false) }

// TestTopologiesWithAnOperatorThatDies runs the same stories, and the operator is killed in the middle of each.
// Concurrent stories see that too.
func TestTopologiesWithAnOperatorThatDies(t *testing.T) { runStories(t, true) }

func runStories(t *testing.T, operatorDies bool) {
	for name, story := range stories {
		if !suite.Runs(name, operatorDies, "drift", "protection") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(operatorDies)
			cluster.Test(t, story(w))
		})
	}
}

package topologies_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// stories are what happens to topologies and to those who use them. They run side by side, each with nodes and topologies of its own;
// only one may use the default topology.
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

func TestTopologies(t *testing.T) { tell(t, false) }

// TestTopologiesWithAnOperatorThatDies goes through the same, and the operator is killed in the middle of each story. Those that run at
// the same time live through that too.
func TestTopologiesWithAnOperatorThatDies(t *testing.T) { tell(t, true) }

func tell(t *testing.T, operatorDies bool) {
	for name, story := range stories {
		if !suite.Told(name, operatorDies, "drift", "protection") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(operatorDies)
			cluster.Test(t, story(w))
		})
	}
}

package dynamo_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// life are the stories of deployments.
var life = map[string]func(*world) *features.FeatureBuilder{
	"scaling":         scaling,
	"restart":         restart,
	"update":          update,
	"deletion":        deletion,
	"lost level":      lostLevel,
	"lost topology":   lostTopology,
	"cannot fit":      cannotFit,
	"no room to grow": noRoomToGrow,
	"serving":         serving,
	"units":           units,
	"near":            near,
}

func TestLife(t *testing.T) { runLife(t, false) }

// TestLifeWithAnOperatorThatDies runs the same stories, and dynamo-operator is killed in the middle of each. Concurrent
// stories see that too.
func TestLifeWithAnOperatorThatDies(t *testing.T) { runLife(t, true) }

func runLife(t *testing.T, operatorDies bool) {
	for name, story := range life {
		if !suite.Runs(name, operatorDies, "restart", "deletion") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster.Test(t, story(newWorld(operatorDies)))
		})
	}
}

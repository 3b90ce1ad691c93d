package grove_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// life are the scenarios of sets, each with the nodes that it needs.
var life = map[string]struct {
	world world
	story func(*world) *features.FeatureBuilder
}{
	"rolling update":           {world{racks: []int{2}}, rollingUpdate},
	"update without room":      {world{racks: []int{1}, gpus: 4}, updateWithoutRoom},
	"update beyond its rack":   {world{racks: []int{2, 2}, gpus: 4}, updateBeyondItsRack},
	"update with a copy more":  {world{racks: []int{2, 2}, gpus: 4}, updateWithACopyMore},
	"update on delete":         {world{racks: []int{2}}, updateOnDelete},
	"scaling":                  {world{racks: []int{2}, gpus: 7}, scaling},
	"deletion":                 {world{racks: []int{2}}, deletion},
	"termination of a replica": {world{racks: []int{2, 2, 2}, gpus: 1}, terminationOfAReplica},
	"termination of a copy":    {world{racks: []int{5}, gpus: 1}, terminationOfACopy},
	"autoscaling":              {world{racks: []int{2}}, autoscaling},
}

func TestLife(t *testing.T) { runLife(t, false) }

// TestLifeWithAnOperatorThatDies runs the same scenarios, and the operator is killed in the middle of each. Concurrent
// scenarios see that too. The module's own test checks that any call may fail.
func TestLifeWithAnOperatorThatDies(t *testing.T) { runLife(t, true) }

func runLife(t *testing.T, operatorDies bool) {
	for name, scenario := range life {
		if !suite.Runs(name, operatorDies, "rolling update", "update beyond its rack", "update with a copy more",
			"deletion") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := scenario.world
			w.World = suite.World{Cluster: cluster, Name: envconf.RandomName("life", 12), OperatorDies: operatorDies,
				Shown: "pcs"}
			cluster.Test(t, scenario.story(&w))
		})
	}
}

package grouping_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// stories of workloads. They run in parallel, each with nodes and a topology of its own.
var stories = map[string]func(*world) *features.FeatureBuilder{
	"job":         job,
	"statefulset": statefulSet,
	"jobset":      jobSet,
	"segments":    segments,
	"podgang":     podGang,
	"mistakes":    mistakes,
}

func TestGrouping(t *testing.T) { runStories(t, false) }

// TestGroupingWithAPodGrouperThatDies runs the same stories, and the pod grouper is killed when half of a workload's
// pods are grouped and while owners are deleted and made again. Concurrent stories see that too.
func TestGroupingWithAPodGrouperThatDies(t *testing.T) { runStories(t, true) }

func runStories(t *testing.T, podGrouperDies bool) {
	for name, story := range stories {
		if !suite.Runs(name, podGrouperDies, "jobset", "statefulset") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster.Test(t, story(newWorld(podGrouperDies)))
		})
	}
}

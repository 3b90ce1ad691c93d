package grouping_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// stories are what becomes of workloads. They run side by side, each with nodes and a topology of its own.
var stories = map[string]func(*world) *features.FeatureBuilder{
	"job":         job,
	"statefulset": statefulSet,
	"jobset":      jobSet,
	"segments":    segments,
	"podgang":     podGang,
	"mistakes":    mistakes,
}

func TestGrouping(t *testing.T) { tell(t, false) }

// TestGroupingWithAPodGrouperThatDies goes through the same, and the pod grouper is killed when half of a workload's pods are grouped and
// while owners are deleted and made again. Stories that run at the same time live through that too.
func TestGroupingWithAPodGrouperThatDies(t *testing.T) { tell(t, true) }

func tell(t *testing.T, podGrouperDies bool) {
	for name, story := range stories {
		if !suite.Told(name, podGrouperDies, "jobset", "statefulset") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster.Test(t, story(newWorld(podGrouperDies)))
		})
	}
}

package kueue_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// TestJob has Kueue admit a Job whose pods then stand in one rack.
func TestJob(t *testing.T) {
	t.Parallel()
	w := newWorld(3, 4)
	cluster.Test(t, features.New("a team's Job").
		Setup(w.create).
		Assess("it stands in the rack that holds it", suite.AllOf(
			w.Applies("job.yaml"), w.runs("job-name=training", 4), w.uses("red", 4))).
		Teardown(w.remove))
}

package kueue_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

const ofTraining = "job-name=training"

// TestJob has a Job borrow, leave as a whole for a deployment of the other team, and come again.
func TestJob(t *testing.T) {
	t.Parallel()
	w := newWorld(8)
	cluster.Test(t, features.New("a team's Job").
		Setup(w.create).
		Assess("it stands in one rack", suite.AllOf(
			w.Applies("training.yaml"), w.runs(ofTraining, 6), w.uses("red", 6))).
		Assess("it leaves for the other team's deployment", suite.AllOf(
			w.Applies("blue.yaml"), w.runs(ofBlue, 4), w.uses("blue", 4), w.uses("red", 0), w.runs(ofTraining, 0))).
		Assess("it comes again", suite.AllOf(
			w.Kubectl("delete", "dgd", "blue"), w.runs(ofTraining, 6), w.uses("red", 6))).
		Teardown(w.remove))
}

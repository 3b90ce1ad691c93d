package kueue_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

const (
	ofRed  = "app.kubernetes.io/part-of=red"
	ofBlue = "nvidia.com/dynamo-graph-deployment-name=blue"
)

// TestTeams has one team borrow what the other does not use, and give it back when that comes.
func TestTeams(t *testing.T) {
	t.Parallel()
	w := newWorld(8)
	cluster.Test(t, features.New("two teams").
		Setup(w.create).
		Assess("a team borrows what the other does not use", suite.AllOf(
			w.Applies("red.yaml"), w.runs(ofRed, 6), w.uses("red", 6))).
		Assess("the other gets its own back, and the minimum of the first goes on", suite.AllOf(
			w.Applies("blue.yaml"), w.runs(ofBlue, 4), w.uses("blue", 4), w.uses("red", 4), w.ready(ofRed, 4))).
		Assess("a deployment stays in its queue", w.Refused([]string{"queue"},
			"label", "dgd", "blue", "--overwrite", "kueue.x-k8s.io/queue-name=red")).
		Assess("what was lent comes again", suite.AllOf(
			w.Kubectl("delete", "dgd", "blue"), w.runs(ofRed, 6), w.uses("red", 6), w.uses("blue", 0))).
		Teardown(w.remove))
}

package life_test

import (
	"os"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"
)

// teller makes a story in a world of its own, in which the operator is killed or not.
type teller func(operatorDies bool) *features.FeatureBuilder

// stories run side by side, the longest first. Some say that an operator is killed half-way, one for each operator.
var stories = []struct {
	name         string
	tell         teller
	operatorDies bool
}{
	{name: "autoscaling", tell: ofSets(setWorld{racks: []int{2}}, autoscaling), operatorDies: true},
	{name: "one edit", tell: ofSets(setWorld{racks: []int{1}, gpus: 6}, oneEdit)},
	{name: "restart", tell: ofDeployments(restart), operatorDies: true},
	{name: "serving", tell: ofDeployments(serving)},
	{name: "deletion", tell: ofDeployments(deletion)},
	{name: "statefulset", tell: ofDeployments(statefulSet), operatorDies: true},
	{name: "several nodes to a replica", tell: ofDeployments(severalNodes)},
	{name: "whole job", tell: ofDeployments(wholeJob)},
	{name: "whole deployment", tell: ofDeployments(wholeDeployment)},
}

// TestStories runs each story once, and if E2E_CRASHES is all, as in make e2e-crashes, in both ways: with an operator
// that lives, and with one that is killed in the middle of it, as concurrent stories see too.
func TestStories(t *testing.T) {
	ways := map[bool]string{false: "", true: ", and an operator dies"}
	for _, story := range stories {
		for operatorDies, way := range ways {
			if operatorDies != story.operatorDies && os.Getenv("E2E_CRASHES") != "all" {
				continue
			}
			t.Run(story.name+way, func(t *testing.T) {
				t.Parallel()
				cluster.Test(t, story.tell(operatorDies))
			})
		}
	}
}

func ofDeployments(story func(*world) *features.FeatureBuilder) teller {
	return func(operatorDies bool) *features.FeatureBuilder { return story(newWorld(operatorDies)) }
}

func ofSets(with setWorld, story func(*setWorld) *features.FeatureBuilder) teller {
	return func(operatorDies bool) *features.FeatureBuilder { return story(newSetWorld(with, operatorDies)) }
}

// TestWebhookDown runs alone: other stories use the operator too.
func TestWebhookDown(t *testing.T) { cluster.Test(t, webhookDown(t, newWorld(true))) }

package life_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// orphans deletes a set and not what was made for it, beside a set that stays: the garbage collector takes the owner
// from its objects, and the operator deletes them.
func orphans(w *setWorld) *features.FeatureBuilder {
	var leaving, neighbour suite.Memory
	all := map[string]int{}
	for _, set := range []string{"orphan", "neighbour"} {
		all[set+"-0-router"], all[set+"-0-g-0-leader"], all[set+"-0-g-0-worker"] = 2, 1, 2
		all[set+"-0-g-1-leader"], all[set+"-0-g-1-worker"] = 1, 2
	}
	return features.New("orphans").
		Setup(w.create).
		Assess("two sets run, with all that belongs to them", suite.AllOf(
			w.applies("two-sets.yaml"), w.runs("engine:1", all), w.isReadyAgain("neighbour", 1),
			w.isReadyAgain("orphan", 1), w.remembers("orphan", &leaving), w.remembers("neighbour", &neighbour),
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				for _, kind := range suite.Made {
					if !slices.ContainsFunc(slices.Collect(maps.Keys(leaving)), func(object string) bool {
						return strings.HasPrefix(object, kind.Kind+" ")
					}) {
						t.Errorf("the set has no %s, so that nobody would see it stay", kind.Kind)
					}
				}
				return ctx
			})).
		Assess("nothing of the one that is deleted is left, and all of the other one",
			suite.AllOf(w.WhileTheOperatorIsDead(w.kubectl("delete", "pcs", "orphan", "--cascade=orphan", "--wait=false")),
				w.isGone("orphan"), w.isAsIn(&neighbour, "neighbour"))).
		Teardown(w.remove)
}

package grove_test

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// deletion deletes sets in every way that kubectl knows, beside one that stays.
func deletion(w *world) *features.FeatureBuilder {
	sets := []string{"background", "foreground", "orphan"}
	all := map[string]int{}
	for _, set := range append(sets, "neighbour") {
		all[set+"-0-router"], all[set+"-0-g-0-leader"], all[set+"-0-g-0-worker"] = 2, 1, 2
		all[set+"-0-g-1-leader"], all[set+"-0-g-1-worker"] = 1, 2
	}
	var neighbour suite.Memory
	story := features.New("deletion").
		Setup(w.create).
		Assess("four sets run", suite.AllOf(w.applies("four-sets.yaml"), w.runs("engine:1", all))).
		Assess("with all that belongs to them",
			func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
				w.isReadyAgain("neighbour", 1)(ctx, t, config) // It has all that it will have.
				for _, set := range sets {
					var objects suite.Memory
					ctx = suite.AllOf(w.isReadyAgain(set, 1), w.remembers(set, &objects))(ctx, t, config)
					found := map[string]bool{}
					for name := range objects {
						kind, _, _ := strings.Cut(name, " ")
						found[kind] = true
					}
					for _, kind := range suite.Made {
						if !found[kind.Kind] {
							t.Errorf("%s has no %s, so that nobody would see it stay", set, kind.Kind)
						}
					}
				}
				return w.remembers("neighbour", &neighbour)(ctx, t, config)
			})
	for _, set := range sets {
		story = story.Assess(set, suite.AllOf(
			w.WhileTheOperatorIsDead(w.kubectl("delete", "pcs", set, "--cascade="+set, "--wait=false")), w.isGone(set),
			w.isAsIn(&neighbour, "neighbour")))
	}
	return story.Teardown(w.remove)
}

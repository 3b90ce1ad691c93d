package dynamo_test

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// cannotFit is a deployment for which no rack has room, until one has.
func cannotFit(w *world) *features.FeatureBuilder {
	explained := func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		object := w.object(ctx, t, "wide")
		w.Until(ctx, t, "the deployment repeats the scheduler's proof", func(ctx context.Context) (bool,
			string, error) {
			return cluster.Explained(ctx, object)
		})
		return ctx
	}
	why := suite.AllOf(explained,
		w.waits("wide", "Frontend: 1 of 1 pods wait", "Decode: 1 of 1 replicas wait", "rack", "nvidia.com/gpu"))
	return features.New("cannot fit").
		Setup(w.create).
		Assess("a deployment says which service waits, for how much, and why",
			suite.AllOf(w.Applies("wide.yaml"), why)).
		Assess("kubectl shows that it is not ready", w.Shows([]string{"READY", "wide", "False", w.Name}, "get", "dgd")).
		Assess("also after a crash of the operator", suite.AllOf(w.TheOperatorDies, why)).
		Assess("a fourth node comes into a rack, and it runs there", suite.AllOf(
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				w.Must(ctx, t, cluster.Create(ctx, w.node("a", "2", "1", 3)))
				return ctx
			},
			w.stands("wide", pods{"Frontend": "1 of frontend:1", "Decode": "4 of vllm:1"}))).
		Teardown(w.remove)
}

// noRoomToGrow scales a running service beyond the room of its zone.
func noRoomToGrow(w *world) *features.FeatureBuilder {
	var running suite.Memory
	why := w.waits("llm", "Decode: ", " of 12 replicas wait: ", "nvidia.com/gpu")
	return features.New("no room to grow").
		Setup(w.create).
		Assess("a deployment runs",
			suite.AllOf(w.Applies("llm.yaml"), w.stands("llm", asApplied()),
				w.Remembers(w.podsOfServices("llm"), &running))).
		Assess("with more replicas than fit it says which service waits, for how much, and why",
			suite.AllOf(w.asksFor("llm", "Decode", 12), why)).
		Assess("also after a crash of the operator", suite.AllOf(w.TheOperatorDies, why)).
		Assess("and is ready again without them, as it was", suite.AllOf(
			w.asksFor("llm", "Decode", 2), w.stands("llm", asApplied()), w.IsAsIn(&running, w.podsOfServices("llm")))).
		Teardown(w.remove)
}

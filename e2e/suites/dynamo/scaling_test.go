package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

// scaling scales services by the deployment's own replicas, and by the object that the status names, with kubectl.
func scaling(w *world) *features.FeatureBuilder {
	var others suite.Memory
	rest := w.podsOfServices("llm", "Frontend")
	return features.New("scaling").
		Setup(w.create).
		Assess("a deployment runs",
			suite.AllOf(w.Applies("llm.yaml"), w.stands("llm", asApplied()), w.Remembers(rest, &others))).
		Assess("a multinode service goes out by the deployment's replicas", suite.AllOf(
			w.asksFor("llm", "Decode", 4), w.TheOperatorDies,
			w.stands("llm", asApplied().but(pods{"Decode": "8 of vllm:1"})))).
		Assess("and in", suite.AllOf(w.asksFor("llm", "Decode", 1), w.TheOperatorDies,
			w.stands("llm", asApplied().but(pods{"Decode": "2 of vllm:1"})))).
		Assess("a single-node service stops, below its minimum", suite.AllOf(
			w.asksFor("llm", "Prefill", 0), w.TheOperatorDies,
			w.runs("llm", asApplied().but(pods{"Decode": "2 of vllm:1", "Prefill": ""})))).
		Assess("and comes back", suite.AllOf(
			w.asksFor("llm", "Prefill", 3), w.TheOperatorDies,
			w.stands("llm", asApplied().but(pods{"Decode": "2 of vllm:1", "Prefill": "3 of vllm:1"})))).
		Assess("both kinds of service go out by what the status names, and the operator need not be there", suite.AllOf(
			w.scalesTogether("llm", map[string]int{"Decode": 2, "Prefill": 4}),
			w.runs("llm", asApplied().but(pods{"Prefill": "4 of vllm:1"})))).
		Assess("that number stays when something else is edited", suite.AllOf(
			w.asksFor("llm", "Prefill", 5), w.TheOperatorDies, w.Kubectl("label", "dgd", "llm", "team=a"),
			w.runs("llm", asApplied().but(pods{"Prefill": "5 of vllm:1"})))).
		Assess("until the deployment asks for another", suite.AllOf(
			w.asksFor("llm", "Prefill", 2), w.asksFor("llm", "Decode", 2), w.TheOperatorDies,
			w.stands("llm", asApplied()))).
		Assess("nobody else has noticed", w.IsAsIn(&others, rest)).
		Assess("nor was any pod replaced by that", suite.AllOf(w.Created("frontend:1", 2, 2),
			w.Created("vllm:1", 17, 17))).
		Teardown(w.remove)
}

// asksFor is kubectl patch of a service's replicas in the deployment.
func (w *world) asksFor(name, service string, replicas int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		return w.patches(name, service, fmt.Sprintf(`{"op":"add","path":"/replicas","value":%d}`, replicas))(
			ctx, t, config)
	}
}

// patches is kubectl patch of a service, by JSON patches with paths below it.
func (w *world) patches(name, service string, patches ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		deployment, err := w.deployment(ctx, name)
		w.Must(ctx, t, err)
		for i := range deployment.Spec.Components {
			if deployment.Spec.Components[i].Name == service {
				all := strings.ReplaceAll(strings.Join(patches, ","), `"path":"/`,
					fmt.Sprintf(`"path":"/spec/components/%d/`, i))
				return w.Kubectl("patch", "dgd", name, "--type=json", "--patch", "["+all+"]")(ctx, t, config)
			}
		}
		t.Fatalf("%s has no service %s", name, service)
		return ctx
	}
}

// scalesTogether is kubectl scale of the objects in the deployment's status for its services, while the operator is
// dead if it is to die.
func (w *world) scalesTogether(name string, replicas map[string]int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		deployment, err := w.deployment(ctx, name)
		w.Must(ctx, t, err)
		var steps []types.StepFunc
		for service, count := range replicas {
			scaled, named := deployment.Status.Services[service]
			if !named {
				t.Fatalf("the status names nothing for %s\n%s", service, w.Report(ctx))
			}
			steps = append(steps,
				w.Kubectl("scale", strings.ToLower(scaled.ComponentKind)+"/"+scaled.ComponentName,
					fmt.Sprintf("--replicas=%d", count)))
		}
		return w.WhileTheOperatorIsDead(steps...)(ctx, t, config)
	}
}

package dynamo_test

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

// TestWebhookDown checks what users see while no operator runs: they can read, scale and delete existing objects, and
// requests that need validation are refused, with a name to look up.
func TestWebhookDown(t *testing.T) {
	w := newWorld(true)
	var running suite.Memory
	refused := []string{"failed calling webhook", `"complete.dynamographdeployments.nvidia.com"`}
	cluster.Test(t, features.New("webhook down").
		Setup(w.create).
		Assess("two deployments run", suite.AllOf(
			w.Applies("llm.yaml"), w.Applies("another.yaml"), w.stands("llm", asApplied()),
			w.stands("another", pods{"Frontend": "1 of frontend:1"}),
			w.Remembers(w.podsOfServices("llm", "Prefill", "Decode"), &running))).
		Assess("while no operator runs", w.WhileTheOperatorIsDead(
			w.fails("a new deployment is refused", refused, "apply", "-f", w.File(t, "default-topology.yaml")),
			w.fails("so is a change", refused, "patch", "dgd", "llm", "--type=merge", "--patch",
				`{"spec":{"restart":{"id":"one"}}}`),
			w.fails("the older version cannot be read", []string{"conversion webhook for nvidia.com/v1beta1"}, "get",
				"dynamographdeployments.v1alpha1.nvidia.com", "llm"),
			w.Shows([]string{"llm", "True"}, "get", "dgd"),
			w.Kubectl("scale", "pclq/llm-0-frontend", "--replicas=3"),
			w.Kubectl("delete", "dgd", "another"), w.isGone("another"))).
		Assess("nothing of what was refused is there",
			suite.AllOf(w.isGone("by-default"), w.Reads("", "dgd", "llm", "{.spec.restart}"))).
		Assess("the next apply works", suite.AllOf(
			w.Applies("default-topology.yaml"),
			w.stands("by-default", pods{"Frontend": "1 of frontend:1", "Decode": "4 of vllm:1"}))).
		Assess("and what was scaled meanwhile is so, with all that ran", suite.AllOf(
			w.runs("llm", asApplied().but(pods{"Frontend": "3 of frontend:1"})),
			w.IsAsIn(&running, w.podsOfServices("llm", "Prefill", "Decode")))).
		Teardown(w.remove))
}

// fails has kubectl do something once, which must fail with such words.
func (w *world) fails(what string, says []string, args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		output, err := cluster.Kubectl(ctx, w.Name, args...)
		if err == nil {
			t.Errorf("%s: it is not: %s", what, output)
		}
		suite.MustSay(t, output, says...)
		return ctx
	}
}

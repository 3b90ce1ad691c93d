package life_test

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

// webhookDown checks what users see while no operator runs: they can read, scale and delete existing objects, and
// requests that need validation are refused, with a name to look up.
func webhookDown(t *testing.T, w *world) *features.FeatureBuilder {
	refused := []string{"failed calling webhook", `"complete.dynamographdeployments.nvidia.com"`}
	return features.New("webhook down").
		Setup(w.create).
		Assess("two deployments run", suite.AllOf(
			w.Applies("deployments/another.yaml"), w.Applies("deployments/default-topology.yaml"),
			w.stands("another", pods{"Frontend": "1 of frontend:1"}), w.stands("by-default", asByDefault()))).
		Assess("while no operator runs", w.WhileTheOperatorIsDead(
			w.fails("a new deployment is refused", refused, "apply", "-f", w.File(t, "deployments/llm.yaml")),
			w.fails("so is a change", refused, "patch", "dgd", "by-default", "--type=merge", "--patch",
				`{"spec":{"restart":{"id":"one"}}}`),
			w.fails("the older version cannot be read", []string{"conversion webhook for nvidia.com/v1beta1"}, "get",
				"dynamographdeployments.v1alpha1.nvidia.com", "by-default"),
			w.Shows([]string{"by-default", "True"}, "get", "dgd"),
			w.Kubectl("scale", "pclq/by-default-0-frontend", "--replicas=2"),
			w.Kubectl("delete", "dgd", "another"), w.isGone("another"))).
		Assess("nothing of what was refused is there",
			suite.AllOf(w.isGone("llm"), w.Reads("", "dgd", "by-default", "{.spec.restart}"))).
		Assess("the next apply works, and what was scaled meanwhile is so", suite.AllOf(
			w.Applies("deployments/another.yaml"), w.stands("another", pods{"Frontend": "1 of frontend:1"}),
			w.runs("by-default", asByDefault().but(pods{"Frontend": "2 of frontend:1"})))).
		Teardown(w.remove)
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

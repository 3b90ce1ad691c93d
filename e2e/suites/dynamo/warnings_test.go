package dynamo_test

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// TestWarnings checks that grove-operator's warnings about a deployment's PodCliqueSet reach the user of the
// deployment.
func TestWarnings(t *testing.T) {
	t.Parallel()
	w := newWorld(false)
	cluster.Test(t, features.New("warnings of what it becomes").
		Setup(w.InNamespace).
		Assess("come back with the answer, in the words of the deployment",
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				said := w.Answer(ctx, t, "apply", "-f", w.File(t, "never-restarts.yaml"))
				suite.MustSay(t, said,
					`spec.services[0].extraPodSpec.restartPolicy: pods of a clique that end are replaced, so that Never acts like Always (service "Frontend")`,
					"never-restarts created")
				return ctx
			}).
		Teardown(w.remove))
}

package life_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
)

// score follows the score of a gang from the scheduler to the deployment.
func score(w *world) *features.FeatureBuilder {
	return features.New("score").
		Setup(w.sevenTightRacks).
		Assess("all pods stand in the rack that holds all, which is preferred",
			suite.AllOf(w.Applies("deployments/prefers.yaml"), w.fourInOneRack)).
		Assess("the deployment says that they could not stand closer", w.isScored).
		Teardown(w.remove)
}

func (w *world) isScored(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Until(ctx, t, "the deployment has the best score", func(ctx context.Context) (bool, string, error) {
		var all dynamo.DynamoGraphDeploymentList
		err := cluster.List(ctx, &all, client.InNamespace(w.Name))
		if err != nil || len(all.Items) != 1 || all.Items[0].Status.Placement == nil {
			return false, fmt.Sprintf("%d deployments, of which one says nothing", len(all.Items)), err
		}
		placed := all.Items[0].Status.Placement
		best := placed.State == dynamo.PlacementReported && placed.Score != nil && *placed.Score == 1
		return best, fmt.Sprintf("%s %v", placed.State, placed.Score), nil
	})
	return ctx
}

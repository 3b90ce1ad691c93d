package wholepath_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/devcluster"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// words are values of labels that appear only after events which this test does not cause.
var words = map[string][]string{
	"packtree_scheduler_gangs_waiting": {
		scheduling.ReasonInfeasible, scheduling.ReasonUnknown, scheduling.ReasonIncomplete, scheduling.ReasonInvalid,
		scheduling.ReasonBelowMinimum, scheduling.ReasonWaiting,
	},
}

// A panel of a metric that is not exported is empty, and its alert never fires, which would go unnoticed. So all
// examples are there at once, and all programs are scraped.
func TestEveryMetricOfTheDashboardsAndAlertsIsExported(t *testing.T) {
	root, err := devcluster.Repository()
	require.NoError(t, err)
	asked, namespace := uses(t, root), envconf.RandomName("metrics", 16)
	var objects []*unstructured.Unstructured
	for _, example := range loadExamples(t) {
		for _, object := range example.Objects {
			if object.GetNamespace() != "" {
				object.SetNamespace(namespace)
			}
			objects = append(objects, object)
		}
	}
	cluster.Test(t, features.New("metrics").
		Setup(inNamespace(namespace)).
		Assess("the cluster takes all examples", applied(objects)).
		Assess("what dashboards and alerts ask for is exported, and objects are counted", exported(namespace, asked, objects)).
		Teardown(removed(namespace, objects)))
}

// exported waits until the programs export each use, and count each object.
func exported(namespace string, asked []use, objects []*unstructured.Unstructured) types.StepFunc {
	counted := map[string]map[string]float64{"dynamo-operator": {}, "grove-operator": {}}
	for _, object := range objects {
		switch object.GetKind() {
		case "DynamoGraphDeployment": // It becomes a set.
			counted["dynamo-operator"]["packtree_dynamo_deployments"]++
			counted["grove-operator"]["packtree_grove_podcliquesets"]++
		case "PodCliqueSet":
			counted["grove-operator"]["packtree_grove_podcliquesets"]++
		}
	}
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		worldOf(namespace).Until(ctx, t, "all metrics are exported", func(ctx context.Context) (bool, string, error) {
			var lacks []string
			all := map[string]families{}
			for _, program := range devcluster.Components {
				found, err := cluster.Metrics(ctx, program)
				if err != nil {
					return false, "", err
				}
				all[program] = found
				for metric, want := range counted[program] {
					sum := 0.0
					for _, series := range found[metric].GetMetric() {
						sum += series.GetGauge().GetValue()
					}
					if sum != want {
						lacks = append(lacks, fmt.Sprintf("%s: %s is %v, not %v", program, metric, sum, want))
					}
				}
			}
			for _, use := range asked {
				if what := missing(use, all[use.Chart], words); what != "" {
					lacks = append(lacks, fmt.Sprintf("%s, %s: %s: %s", use.Chart, use.Place, use.Metric, what))
				}
			}
			return len(lacks) == 0, strings.Join(lacks, "\n"), nil
		})
		return ctx
	}
}

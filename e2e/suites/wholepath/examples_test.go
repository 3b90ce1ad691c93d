package wholepath_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
)

func TestExamples(t *testing.T) {
	for _, example := range loadExamples(t) {
		namespace := envconf.RandomName("example", 16)
		for _, object := range example.Objects {
			if object.GetNamespace() != "" {
				object.SetNamespace(namespace)
			}
		}
		feature := features.New(example.Name).
			Setup(inNamespace(namespace)).
			Assess("the cluster takes it", applied(example.Objects))
		if example.Fits {
			feature.Assess("every pod runs", everyPodRuns(namespace, example.Objects)).
				Assess("every constraint holds by the labels of the nodes", constraintsHold(example.Objects))
		} else {
			feature.Assess("nothing is bound and the reason is reported", cannotFit(example.Objects[0]))
		}
		cluster.Test(t, feature.
			Teardown(removed(namespace, example.Objects)))
	}
}

func loadExamples(t *testing.T) []examples.Example {
	t.Helper()
	directory, err := examples.Directory()
	require.NoError(t, err)
	all, err := examples.Load(directory, "default")
	require.NoError(t, err)
	return all
}

// worldOf has a namespace for one example.
func worldOf(namespace string) *suite.World {
	return &suite.World{Cluster: cluster, Name: namespace, Operator: suite.GroveOperator,
		Shown: "dgd,pcs,pclq,pcsg,pg,podgroups.scheduling.run.ai"}
}

func inNamespace(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		w := worldOf(name)
		w.InNamespace(ctx, t, config)
		w.Until(ctx, t, "the namespace takes pods", cluster.NamespaceTakesPods(name))
		return ctx
	}
}

func applied(objects []*unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		require.NoError(t, cluster.Apply(ctx, objects...))
		return ctx
	}
}

func everyPodRuns(namespace string, objects []*unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for _, object := range workloads(ctx, t, objects) {
			workload, _, err := cluster.Workload(ctx, object)
			require.NoError(t, err)
			worldOf(namespace).Until(ctx, t, fmt.Sprintf("all pods of %s run", workload.Object),
				cluster.Runs(workload, namespace))
		}
		return ctx
	}
}

func constraintsHold(objects []*unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for _, object := range workloads(ctx, t, objects) {
			findings, err := cluster.Findings(ctx, object)
			require.NoError(t, err)
			for _, finding := range findings {
				if !finding.Held() {
					t.Errorf("broken: %s", finding)
				}
			}
		}
		return ctx
	}
}

func cannotFit(object *unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		worldOf(object.GetNamespace()).Until(ctx, t, live.Name(object)+" says why it cannot run",
			cluster.Explained(object))
		return ctx
	}
}

// removed deletes the example and checks that its children are deleted with it.
func removed(namespace string, objects []*unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		require.NoError(t, cluster.Remove(ctx, objects...))
		w := worldOf(namespace)
		w.Until(ctx, t, "the example and its pods are gone", func(ctx context.Context) (bool, string, error) {
			gone, err := cluster.Gone(ctx, objects...)
			if err != nil || !gone {
				return false, "objects of the example are still there", err
			}
			standing, err := cluster.Standing(ctx, namespace)
			return len(standing.Pods) == 0, fmt.Sprintf("%d pods are left", len(standing.Pods)), err
		})
		return ctx
	}
}

func workloads(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, object := range objects {
		_, is, err := cluster.Workload(ctx, object)
		require.NoError(t, err)
		if is {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		t.Fatal("the example has no workload")
	}
	return found
}

package wholepath_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
)

// patience bounds each wait, on a busy machine.
const patience = 4 * time.Minute

// ofSuite are the labels of the suite's namespaces.
var ofSuite = map[string]string{"packtree.dev/suite": "wholepath"}

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
		test(t, feature.
			Teardown(removed(namespace, example.Objects)))
	}
}

func loadExamples(t *testing.T) []examples.Example {
	t.Helper()
	directory, err := examples.Directory()
	if err != nil {
		t.Fatal(err)
	}
	all, err := examples.Load(directory, "default")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inNamespace makes a namespace, which is deleted after the feature, however that ends: the cluster may be somebody's
// own.
func inNamespace(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: ofSuite}}
		if err := cluster.Create(ctx, namespace); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cluster.Delete(context.WithoutCancel(ctx), namespace); err != nil {
				t.Errorf("namespace %s is left: %v", name, err)
			}
		})
		// Pods of examples run under the namespace's default account, which a controller makes.
		account := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default",
				"namespace": name},
		}}
		waitFor(ctx, t, "the namespace has its default service account", func(ctx context.Context) (bool,
			string, error) {
			gone, err := cluster.Gone(ctx, account)
			return !gone, "it has none", err
		}, account)
		return ctx
	}
}

func applied(objects []*unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		if err := cluster.Apply(ctx, objects...); err != nil {
			t.Fatal(err)
		}
		return ctx
	}
}

func everyPodRuns(namespace string, objects []*unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for _, object := range workloads(ctx, t, objects) {
			workload, _, err := cluster.Workload(ctx, object)
			if err != nil {
				t.Fatal(err)
			}
			waitFor(ctx, t, fmt.Sprintf("all pods of %s run", workload.Object),
				cluster.Runs(workload, namespace), objects...)
		}
		return ctx
	}
}

func constraintsHold(objects []*unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for _, object := range workloads(ctx, t, objects) {
			findings, err := cluster.Findings(ctx, object)
			if err != nil {
				t.Error(err)
			}
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
		waitFor(ctx, t, live.Name(object)+" says why it cannot run", func(ctx context.Context) (bool, string, error) {
			return cluster.Explained(ctx, object)
		}, object)
		return ctx
	}
}

// removed deletes the example and checks that its children are deleted with it.
func removed(namespace string, objects []*unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		if err := cluster.Remove(ctx, objects...); err != nil {
			t.Error(err)
		}
		waitFor(ctx, t, "the example and its pods are gone", func(ctx context.Context) (bool, string, error) {
			gone, err := cluster.Gone(ctx, objects...)
			if err != nil || !gone {
				return false, "objects of the example are still there", err
			}
			standing, err := cluster.Standing(ctx, namespace)
			return len(standing.Pods) == 0, fmt.Sprintf("%d pods are left", len(standing.Pods)), err
		}, objects...)
		return ctx
	}
}

func workloads(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, object := range objects {
		_, is, err := cluster.Workload(ctx, object)
		if err != nil {
			t.Fatal(err)
		}
		if is {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		t.Fatal("the example has no workload")
	}
	return found
}

// waitFor waits and, if that fails, prints the objects that it is about, and why gangs wait in the namespace of the
// last wait.
func waitFor(ctx context.Context, t *testing.T, what string, look live.Look, about ...*unstructured.Unstructured) {
	t.Helper()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := live.Wait(waiting, what, look); err != nil {
		var printed strings.Builder
		for _, object := range about {
			fmt.Fprintf(&printed, "---\n%s", cluster.Print(ctx, object))
		}
		t.Fatalf("%v\n%s%s", err, cluster.Reasons(ctx, about[len(about)-1].GetNamespace()), printed.String())
	}
}

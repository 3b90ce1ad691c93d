package life_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
)

// severalNodes follows a deployment after TensorRT-LLM's documentation, on the nodes of docs/examples, from apply to
// running pods and to its deletion.
func severalNodes(w *world) *features.FeatureBuilder {
	const name, file = "trtllm-disagg", "testdata/deployments/trtllm-disaggregated.yaml"
	return features.New("several nodes to a replica").
		Setup(w.InNamespace).
		Assess("kubectl applies it, without a warning",
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				w.Until(ctx, t, "the namespace takes pods", cluster.NamespaceTakesPods(w.Name))
				// Another story may just have killed an operator that is asked: that is a warning, too.
				w.Until(ctx, t, "kubectl has no warning", func(ctx context.Context) (bool, string, error) {
					said, err := w.Cluster.Kubectl(ctx, w.Name, "apply", "--dry-run=server", "-f", file)
					return err == nil && !strings.Contains(said, "Warning"), said, err
				})
				w.Answer(ctx, t, "apply", "-f", file)
				return ctx
			}).
		Assess("every pod runs, and it says so", w.runs(name, pods{"Frontend": "1 of tensorrtllm-runtime:0.8.1",
			"prefill": "2 of tensorrtllm-runtime:0.8.1", "decode": "6 of tensorrtllm-runtime:0.8.1"})).
		Assess("every constraint holds by the labels of the nodes", w.isPlaced(name)).
		Assess("the status has every replica of every service", w.countsAll(name)).
		Assess("the constraints are enforced", w.says(name, dynamo.ConditionTopologyConstraintsEnforced, metav1.ConditionTrue,
			dynamo.ReasonAllTopologyLevelsAvailable)).
		Assess("its frontend has a Service with all of its pods", w.servesFrontend(name)).
		Assess("both versions can be read, and written back without a change", w.isStable(name)).
		Assess("nothing of it is left when it is deleted", suite.AllOf(w.Kubectl("delete", "dgd", name),
			w.isGone(name))).
		Teardown(w.remove)
}

// countsAll waits until the replicas in the status are those of the spec, and checks by what each service is scaled.
func (w *world) countsAll(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		var deployment *dynamo.DynamoGraphDeployment
		w.Until(ctx, t, "all replicas are counted", func(ctx context.Context) (counted bool, _ string, err error) {
			deployment, err = w.deployment(ctx, name)
			counted = err == nil
			for _, component := range deployment.Spec.Components {
				of, wanted := deployment.Status.Services[component.Name], *component.Replicas
				counted = counted && of.Replicas == wanted && of.ReadyReplicas == wanted &&
					of.ScheduledReplicas == wanted && of.UpdatedReplicas == wanted
			}
			return counted, fmt.Sprintf("%+v", deployment.Status.Services), err
		})
		for _, component := range deployment.Spec.Components {
			counted := deployment.Status.Services[component.Name]
			scaled := w.Answer(ctx, t, "get", strings.ToLower(counted.ComponentKind)+"/"+counted.ComponentName, "-o",
				"jsonpath={.spec.replicas}")
			if alone := component.Multinode == nil; alone != (counted.ComponentKind == "PodClique") || scaled == "" {
				t.Errorf("%s is scaled by %s %s of %q replicas", component.Name, counted.ComponentKind,
					counted.ComponentName, scaled)
			}
		}
		return ctx
	}
}

// servesFrontend waits until the Service of the frontend leads to each ready pod of it.
func (w *world) servesFrontend(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "the Service leads to the frontends", func(ctx context.Context) (bool, string, error) {
			var service corev1.Service
			if err := cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name + "-frontend"},
				&service); err != nil {
				return false, "", err
			}
			var selected corev1.PodList
			if err := cluster.List(ctx, &selected, client.InNamespace(w.Name),
				client.MatchingLabels(service.Spec.Selector)); err != nil {
				return false, "", err
			}
			endpoints, err := cluster.Kubectl(ctx, w.Name, "get", "endpointslices", "-l",
				"kubernetes.io/service-name="+service.Name,
				"-o", "jsonpath={range .items[*].endpoints[*]}{.conditions.ready} {.targetRef.name};{end}")
			for i := range selected.Items {
				pod := &selected.Items[i]
				if pod.Labels[dynamo.LabelComponentType] != "frontend" ||
					!strings.Contains(endpoints, "true "+pod.Name+";") {
					return false, pod.Name + " is not behind it: " + endpoints, err
				}
			}
			return len(selected.Items) > 0 && service.Spec.Ports[0].Port == 8000, endpoints, err
		})
		return ctx
	}
}

// isStable reads a deployment in each version and replaces it with what was read.
func (w *world) isStable(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		before, err := w.deployment(ctx, name)
		w.Must(ctx, t, err)
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			w.Until(ctx, t, version+" is written back", func(ctx context.Context) (bool, string, error) {
				written := w.Answer(ctx, t, "get", "dynamographdeployments."+version+".nvidia.com", name, "-o", "yaml")
				said, err := cluster.Kubectl(ctx, w.Name, "replace", "-f", w.Store(t, version+".yaml", written))
				if err != nil && !live.Unanswered(said) && !strings.Contains(said, "the object has been modified") {
					w.Must(ctx, t, err)
				}
				return err == nil, said, nil
			})
		}
		after, err := w.deployment(ctx, name)
		w.Must(ctx, t, err)
		if before.Generation != after.Generation {
			t.Errorf("generation %d became %d\n%s", before.Generation, after.Generation, w.Report(ctx))
		}
		return ctx
	}
}

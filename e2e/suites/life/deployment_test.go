package life_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
)

// pods is how many pods of each service there are, written "4 of vllm:1".
type pods map[string]string

// asApplied are those of testdata/deployments/llm.yaml.
func asApplied() pods {
	return pods{"Frontend": "2 of frontend:1", "Prefill": "2 of vllm:1", "Decode": "4 of vllm:1"}
}

// asByDefault are those of testdata/deployments/default-topology.yaml.
func asByDefault() pods { return pods{"Frontend": "1 of frontend:1", "Decode": "4 of vllm:1"} }

// but are the same with other values for some services; a service without pods is left out.
func (p pods) but(others pods) pods {
	changed := maps.Clone(p)
	maps.Copy(changed, others)
	maps.DeleteFunc(changed, func(_, count string) bool { return count == "" })
	return changed
}

// runs waits until a deployment is ready, and its pods are these and no others, all ready and none being deleted.
func (w *world) runs(name string, wanted pods) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("the ready pods of %s are %v", name, wanted),
			func(ctx context.Context) (bool, string, error) {
				pods, err := w.podsOf(ctx, name)
				if err != nil {
					return false, "", err
				}
				found, state := countByService(pods)
				if state != "" || !maps.Equal(found, wanted) {
					return false, fmt.Sprintf("%v %s", found, state), nil
				}
				return w.isReady(ctx, name)
			})
		return ctx
	}
}

func countByService(found []corev1.Pod) (counted pods, state string) {
	counts := map[[2]string]int{}
	for i := range found {
		pod := &found[i]
		if pod.DeletionTimestamp != nil || !suite.IsReady(pod) {
			return nil, fmt.Sprintf("%s of %s: ready %v, deleted %v", pod.Name, suite.Image(pod), suite.IsReady(pod),
				pod.DeletionTimestamp)
		}
		counts[[2]string{pod.Labels[dynamo.LabelComponent], suite.Image(pod)}]++
	}
	counted = pods{}
	for of, count := range counts {
		counted[of[0]] += fmt.Sprintf("%d of %s", count, of[1])
	}
	return counted, ""
}

// isReady checks whether a deployment says that its latest spec is carried out.
func (w *world) isReady(ctx context.Context, name string) (bool, string, error) {
	deployment, err := w.deployment(ctx, name)
	if err != nil {
		return false, "", err
	}
	ready := meta.FindStatusCondition(deployment.Status.Conditions, dynamo.ConditionReady)
	done := ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == deployment.Generation &&
		deployment.Status.State == dynamo.StateSuccessful
	return done, fmt.Sprintf("generation %d, state %s: %+v", deployment.Generation, deployment.Status.State, ready), nil
}

// isPlaced checks by the labels of the nodes that every constraint of a deployment holds.
func (w *world) isPlaced(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		findings, err := cluster.Findings(ctx, w.object(ctx, t, name))
		w.Must(ctx, t, err)
		for _, finding := range findings {
			if !finding.Held() {
				t.Errorf("broken: %s\n%s", finding, w.Report(ctx))
			}
		}
		return ctx
	}
}

// stands waits until a deployment runs, and checks its placement.
func (w *world) stands(name string, wanted pods) types.StepFunc {
	return suite.AllOf(w.runs(name, wanted), w.isPlaced(name))
}

// waits lasts until a deployment is not ready and its message, about the latest spec, has all these words.
func (w *world) waits(name string, words ...string) types.StepFunc {
	return w.says(name, dynamo.ConditionReady, metav1.ConditionFalse, dynamo.ReasonServicesNotReady, words...)
}

// says waits until a condition of a deployment, about its latest spec, is as wanted.
func (w *world) says(
	name, condition string, status metav1.ConditionStatus, reason string, words ...string,
) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%s says %s=%s %s: %q", name, condition, status, reason, words),
			func(ctx context.Context) (bool, string, error) {
				deployment, err := w.deployment(ctx, name)
				if err != nil {
					return false, "", err
				}
				said := meta.FindStatusCondition(deployment.Status.Conditions, condition)
				done := said != nil && said.Status == status && said.Reason == reason &&
					said.ObservedGeneration == deployment.Generation &&
					len(suite.Missing(said.Message, words)) == 0
				return done, fmt.Sprintf("%+v", said), nil
			})
		return ctx
	}
}

func (w *world) deployment(ctx context.Context, name string) (*dynamo.DynamoGraphDeployment, error) {
	deployment := &dynamo.DynamoGraphDeployment{}
	return deployment, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, deployment)
}

// object is a deployment as kubectl sees it.
func (w *world) object(ctx context.Context, t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(dynamo.GroupVersion.WithKind("DynamoGraphDeployment"))
	w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, object))
	return object
}

// podsOf are all pods of a deployment.
func (w *world) podsOf(ctx context.Context, name string) ([]corev1.Pod, error) {
	var found corev1.PodList
	err := cluster.List(ctx, &found, client.InNamespace(w.Name),
		client.MatchingLabels{dynamo.LabelDeploymentName: name})
	return found.Items, err
}

// podsOfServices looks for the pods of some services of a deployment, all of them if none is named.
func (w *world) podsOfServices(name string, services ...string) suite.Look {
	return func(ctx context.Context) (suite.Memory, error) {
		found, err := w.podsOf(ctx, name)
		seen := suite.Memory{}
		for i := range found {
			service := found[i].Labels[dynamo.LabelComponent]
			if len(services) == 0 || slices.Contains(services, service) {
				seen[service+" "+found[i].Name] = found[i].UID
			}
		}
		return seen, err
	}
}

// made are the kinds of the objects that are made for a deployment.
var made = append([]schema.GroupVersionKind{
	{Group: "grove.io", Version: "v1alpha1", Kind: "PodCliqueSet"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
}, live.Made...)

// objects looks for all that was made for a deployment.
func (w *world) objects(name string) suite.Look {
	return func(ctx context.Context) (suite.Memory, error) {
		return w.Objects(ctx, made, dynamo.LabelDeploymentName, name)
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

package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
)

// TestExamples tests each deployment of docs/examples that can run, and those of testdata/deployments, from apply to
// running pods and to their deletion.
func TestExamples(t *testing.T) {
	directory, err := examples.Directory()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int{
		directory + "/dgd-zone.yaml": 5, directory + "/dgd-block.yaml": 11, directory + "/dgd-rack.yaml": 13,
		directory + "/dgd-side-by-side.yaml":             13,
		"testdata/deployments/sglang-disaggregated.yaml": 21, "testdata/deployments/trtllm-disaggregated.yaml": 9,
	}
	for file, count := range files {
		t.Run(strings.TrimSuffix(file[strings.LastIndexByte(file, '/')+1:], ".yaml"), func(t *testing.T) {
			t.Parallel()
			runExample(t, file, count)
		})
	}
}

func runExample(t *testing.T, file string, count int) {
	w := newWorld(false)
	objects, err := examples.Objects(file, w.Name)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	name := objects[0].GetName()
	cluster.Test(t, features.New(name).
		Setup(w.InNamespace).
		Assess("kubectl applies it, without a warning",
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				w.Until(ctx, t, "the namespace takes pods", cluster.NamespaceTakesPods(w.Name))
				if said := w.Answer(ctx, t, "apply", "-f", file); strings.Contains(said, "Warning") {
					t.Error(said)
				}
				return ctx
			}).
		Assess("every pod runs, and it says so", w.hasPods(name, count)).
		Assess("every constraint holds by the labels of the nodes", w.isPlaced(name)).
		Assess("the status has every replica of every service", w.countsAll(name)).
		Assess("the constraints are enforced, which is reported once", suite.AllOf(
			w.says(name, dynamo.ConditionTopologyConstraintsEnforced, metav1.ConditionTrue,
				dynamo.ReasonAllTopologyLevelsAvailable),
			w.reportsOnce(name, dynamo.EventTopologyConstraintsApplied))).
		Assess("its frontend has a Service with all of its pods", w.servesFrontend(name)).
		Assess("both versions can be read, and written back without a change", w.isStable(name)).
		Assess("nothing of it is left when it is deleted", suite.AllOf(w.Kubectl("delete", "dgd", name),
			w.isGone(name))).
		Teardown(w.remove))
}

// hasPods waits until a deployment is ready and has so many pods, all of which are.
func (w *world) hasPods(name string, count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "all pods run", func(ctx context.Context) (bool, string, error) {
			found, err := w.podsOf(ctx, name)
			if err != nil {
				return false, "", err
			}
			counted, state := countByService(found)
			if state != "" || len(found) != count {
				return false, strings.TrimSpace(state), nil
			}
			ready, said, err := w.isReady(ctx, name)
			return ready, said + " " + strings.Join(counted.names(), " "), err
		})
		return ctx
	}
}

func (p pods) names() []string {
	var all []string
	for name, count := range p {
		all = append(all, name+": "+count)
	}
	return all
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
				if group := groupOf(deployment, component.Name); group != nil {
					wanted = *group.Replicas
				}
				counted = counted && of.Replicas == wanted && of.ReadyReplicas == wanted &&
					of.ScheduledReplicas == wanted && of.UpdatedReplicas == wanted
			}
			return counted, fmt.Sprintf("%+v", deployment.Status.Services), err
		})
		for _, component := range deployment.Spec.Components {
			counted := deployment.Status.Services[component.Name]
			scaled := w.Answer(ctx, t, "get", strings.ToLower(counted.ComponentKind)+"/"+counted.ComponentName, "-o",
				"jsonpath={.spec.replicas}")
			alone := component.Multinode == nil && groupOf(deployment, component.Name) == nil
			if alone != (counted.ComponentKind == "PodClique") || scaled == "" {
				t.Errorf("%s is scaled by %s %s of %q replicas", component.Name, counted.ComponentKind,
					counted.ComponentName, scaled)
			}
		}
		return ctx
	}
}

// groupOf is the component group of a component; nil if it scales alone.
func groupOf(deployment *dynamo.DynamoGraphDeployment, component string) *dynamo.ComponentGroup {
	if deployment.Spec.Experimental == nil {
		return nil
	}
	groups := deployment.Spec.Experimental.ComponentGroups
	at := slices.IndexFunc(groups, func(group dynamo.ComponentGroup) bool {
		return slices.ContainsFunc(group.Components, func(member dynamo.ComponentGroupMember) bool {
			return member.Name == component
		})
	})
	if at < 0 {
		return nil
	}
	return &groups[at]
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

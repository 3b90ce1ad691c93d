package wholepath_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
)

const systemNamespace = "packtree-system"

type step = e2e.StepFunc

// world has three workloads of docs/examples: a deployment, a set and a Job.
type world struct {
	suite.World
	workloads []*unstructured.Unstructured
	// remembered is the state at some moment.
	pods    map[string]standing
	objects suite.Memory
}

// standing is a pod with its node.
type standing struct {
	uid      types.UID
	node     string
	restarts int32
}

func (w *world) create(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	ctx = w.InNamespace(ctx, t, config)
	w.Until(ctx, t, "the namespace takes pods", cluster.NamespaceTakesPods(w.Name))
	directory, err := examples.Directory()
	w.Must(ctx, t, err)
	for _, file := range []string{"dgd-rack.yaml", "podcliqueset-disaggregated-inference.yaml",
		"job-topology-aware.yaml"} {
		objects, err := examples.Objects(filepath.Join(directory, file), w.Name)
		w.Must(ctx, t, err)
		w.Must(ctx, t, cluster.Apply(ctx, objects...))
		for _, object := range objects {
			if _, is, err := cluster.Workload(ctx, object); is {
				w.workloads = append(w.workloads, object)
			} else {
				w.Must(ctx, t, err)
			}
		}
	}
	if len(w.workloads) != 3 {
		t.Fatalf("%d workloads", len(w.workloads))
	}
	return ctx
}

// isReady waits until the deployment and the set are: then they have all objects that they are to have.
func (w *world) isReady(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	const ready = `{.status.conditions[?(@.type=="Ready")].status}`
	return suite.AllOf(w.Reads("True", "dgd", "vllm-rack", ready),
		w.Reads("True", "pcs", "disaggregated-inference", ready))(ctx, t, config)
}

// run waits until all workloads run, and checks their placement.
func (w *world) run(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, object := range w.workloads {
		workload, _, err := cluster.Workload(ctx, object)
		w.Must(ctx, t, err)
		w.Until(ctx, t, live.Name(object)+" runs", cluster.Runs(workload, w.Name))
		findings, err := cluster.Findings(ctx, object)
		w.Must(ctx, t, err)
		for _, finding := range findings {
			if !finding.Held() {
				t.Errorf("broken: %s", finding)
			}
		}
	}
	return ctx
}

// remembers records every pod and every object of the world.
func (w *world) remembers(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	var err error
	w.pods, err = w.stand(ctx)
	w.Must(ctx, t, err)
	w.objects, err = w.all(ctx)
	w.Must(ctx, t, err)
	if len(w.pods) == 0 || len(w.objects) <= len(w.pods) {
		t.Fatalf("%d pods and %d objects in all are there to be remembered", len(w.pods), len(w.objects))
	}
	return ctx
}

func (w *world) stand(ctx context.Context) (map[string]standing, error) {
	pods, err := w.Pods(ctx)
	found := map[string]standing{}
	for i := range pods {
		pod := &pods[i]
		stands := standing{uid: pod.UID, node: pod.Spec.NodeName}
		for _, status := range pod.Status.ContainerStatuses {
			stands.restarts += status.RestartCount
		}
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			found[pod.Name] = stands
		}
	}
	return found, err
}

// all are the objects of the world: the user's, and those made from them.
func (w *world) all(ctx context.Context) (suite.Memory, error) {
	kinds := append(slices.Clone(live.Made),
		schema.GroupVersionKind{Group: "nvidia.com", Version: "v1beta1", Kind: "DynamoGraphDeployment"},
		schema.GroupVersionKind{Group: "grove.io", Version: "v1alpha1", Kind: "PodCliqueSet"},
		schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"})
	return w.Objects(ctx, kinds, "", "")
}

// isAsItWas checks that every remembered pod and object exists, the same one, on the same node, without a restart; and,
// unless the world has grown, nothing else.
func (w *world) isAsItWas(grown bool) step {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pods, err := w.stand(ctx)
		w.Must(ctx, t, err)
		objects, err := w.all(ctx)
		w.Must(ctx, t, err)
		if grown {
			maps.DeleteFunc(pods, func(name string, _ standing) bool { _, known := w.pods[name]; return !known })
			maps.DeleteFunc(objects, func(name string, _ types.UID) bool { _, known := w.objects[name]; return !known })
		}
		if !maps.Equal(pods, w.pods) {
			t.Errorf("pods were %v and are %v", w.pods, pods)
		}
		if difference := w.objects.Difference(objects); difference != "" {
			t.Errorf("of the objects %s", difference)
		}
		for name, pod := range pods {
			if pod.restarts != 0 || pod.node == "" {
				t.Errorf("pod %s was restarted %d times on %q", name, pod.restarts, pod.node)
			}
		}
		return ctx
	}
}

// anotherJob is a Job like the existing one, which has to be grouped and placed.
func (w *world) anotherJob(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	i := slices.IndexFunc(w.workloads,
		func(object *unstructured.Unstructured) bool { return object.GetKind() == "Job" })
	another := w.workloads[i].DeepCopy()
	another.SetName("another-job")
	w.Must(ctx, t, cluster.Apply(ctx, another))
	w.workloads = append(w.workloads, another)
	return w.run(ctx, t, config)
}

// podsOf waits until so many pods of a label run.
func (w *world) podsOf(selector string, count int) step {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%d pods of %s run", count, selector), func(ctx context.Context) (bool,
			string, error) {
			said, err := cluster.Kubectl(ctx, w.Name, "get", "pods", "--selector="+selector,
				"--field-selector=status.phase=Running", "-o", "name")
			names := strings.Fields(said)
			return err == nil && len(names) == count, strings.Join(names, " "), err
		})
		return ctx
	}
}

// removes deletes the workloads and waits until nothing of them is left.
func (w *world) removes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Must(ctx, t, cluster.Remove(ctx, w.workloads...))
	w.Until(ctx, t, "the workloads are gone", func(ctx context.Context) (bool, string, error) {
		objects, err := w.all(ctx)
		delete(objects, "ServiceAccount default")
		return len(objects) == 0, fmt.Sprint(objects), err
	})
	return ctx
}

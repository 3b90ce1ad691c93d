package kueue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

const rackLabel = "topology.packtree.dev/rack"

// world is what one story has for itself: nodes with a GPU each, and two teams that share them.
type world struct {
	suite.World
	// racks are the numbers of nodes of each rack.
	racks []int
}

func newWorld(racks ...int) *world {
	return &world{World: suite.World{Cluster: cluster, Name: envconf.RandomName("kueue", 12),
		Operator: suite.GroveOperator, Shown: "pcs,podgangs,podgroups.scheduling.run.ai,workloads.kueue.x-k8s.io"},
		racks: racks}
}

// create makes the nodes, the namespace and the teams' queues.
func (w *world) create(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	t.Helper()
	var nodes []*corev1.Node
	for rack, count := range w.racks {
		for i := range count {
			nodes = append(nodes, w.node(rack, i))
		}
	}
	w.Populate(ctx, t, nodes)
	return w.Applies("queues.yaml")(ctx, t, config)
}

func (w *world) node(rack, i int) *corev1.Node {
	return live.FakeNode(fmt.Sprintf("%s-r%d-n%d", w.Name, rack, i), map[string]string{
		suite.WorldLabel: w.Name, corev1.LabelTopologyZone: w.Name, "topology.packtree.dev/block": "block",
		rackLabel: fmt.Sprintf("%s-r%d", w.Name, rack),
	}, 1)
}

// remove deletes every workload, and checks that no quota is left in use before it deletes the rest.
func (w *world) remove(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	t.Helper()
	w.Kubectl("delete", "pcs,dgd,jobs", "--all", "--wait=false")(ctx, t, config)
	w.Until(ctx, t, "no pod and no workload is left", func(ctx context.Context) (bool, string, error) {
		left, err := cluster.Kubectl(ctx, w.Name, "get", "pods,workloads.kueue.x-k8s.io", "-o", "name")
		return left == "No resources found in "+w.Name+" namespace.\n" || strings.TrimSpace(left) == "", left, err
	})
	for _, team := range []string{"red", "blue"} {
		w.uses(team, 0)(ctx, t, config)
	}
	w.Depopulate(ctx, t, &grove.PodCliqueSet{}, kind("ClusterQueue"), kind("ResourceFlavor"),
		kind("AdmissionCheck"), &schedulingv1.PriorityClass{})
	return ctx
}

// kind is an object of one of Kueue's kinds.
func kind(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	object.SetKind(name)
	return object
}

// uses waits until a team has quota for so many GPUs in use, its own or borrowed.
func (w *world) uses(team string, gpus int) types.StepFunc {
	path := `{.status.flavorsReservation[0].resources[0].total}`
	return w.Reads(fmt.Sprint(gpus), "clusterqueues.kueue.x-k8s.io", w.Name+"-"+team, path)
}

// runs waits until pods with a label are ready, so many and no others, and none of them is being deleted. It checks
// that they share a rack.
func (w *world) runs(label string, count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		racks := map[string]bool{}
		w.Until(ctx, t, fmt.Sprintf("%d pods with %s run", count, label),
			func(ctx context.Context) (bool, string, error) {
				pods, err := w.labelled(ctx, label)
				clear(racks)
				ready := 0
				for i := range pods {
					if pods[i].DeletionTimestamp == nil && suite.IsReady(&pods[i]) {
						ready++
						racks[rackOf(pods[i].Spec.NodeName)] = true
					}
				}
				return ready == count && len(pods) == count, fmt.Sprintf("%d of %d run", ready, len(pods)), err
			})
		if count > 0 && len(racks) != 1 {
			t.Errorf("pods with %s stand in racks %v\n%s", label, racks, w.Report(ctx))
		}
		return ctx
	}
}

// ready waits until so many pods with a label are ready, and the others wait.
func (w *world) ready(label string, count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%d pods with %s are ready", count, label),
			func(ctx context.Context) (bool, string, error) {
				pods, err := w.labelled(ctx, label)
				ready := 0
				for i := range pods {
					if pods[i].DeletionTimestamp == nil && suite.IsReady(&pods[i]) {
						ready++
					}
				}
				return ready == count, fmt.Sprintf("%d of %d are", ready, len(pods)), err
			})
		return ctx
	}
}

// rackOf cuts the number off a node's name.
func rackOf(node string) string { return node[:max(0, strings.LastIndex(node, "-"))] }

func (w *world) labelled(ctx context.Context, label string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	key, value, _ := strings.Cut(label, "=")
	err := cluster.List(ctx, &pods, client.InNamespace(w.Name), client.MatchingLabels{key: value})
	return pods.Items, err
}

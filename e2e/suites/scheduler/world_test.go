package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/live"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

const (
	// The labels are those of grove-operator's default topology, so that a PodCliqueSet can be constrained by them too.
	zoneLabel  = corev1.LabelTopologyZone
	blockLabel = "topology.packtree.dev/block"
	rackLabel  = "topology.packtree.dev/rack"
	// worldLabel keeps the pods of a scenario to its nodes.
	worldLabel = "suite/world"
)

// world is what one scenario has for itself: nodes, a namespace and a Topology, all of one name.
type world struct {
	name string
	// racks are the numbers of nodes of each rack; a node has one GPU, so it holds one pod.
	racks []int
}

// newWorld describes a zone with racks of so many nodes each. It is made by its step create.
func newWorld(racks ...int) *world {
	return &world{name: envconf.RandomName("world", 14), racks: racks}
}

func (w *world) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.must(ctx, t, cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}))
	w.must(ctx, t, cluster.Create(ctx, w.topology()))
	for rack, count := range w.racks {
		for i := range count {
			w.must(ctx, t, cluster.Create(ctx, w.node(rack, i)))
		}
	}
	w.until(ctx, t, "every node takes pods", cluster.NodesTakePods(map[string]string{worldLabel: w.name}))
	w.until(ctx, t, "the namespace takes pods", cluster.NamespaceTakesPods(w.name))
	return ctx
}

func (w *world) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.must(ctx, t, cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.name), client.GracePeriodSeconds(0)))
	w.must(ctx, t, cluster.DeleteAllOf(ctx, &corev1.Node{}, client.MatchingLabels{worldLabel: w.name}))
	w.must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, w.topology())))
	w.must(ctx, t, cluster.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}))
	return ctx
}

func (w *world) topology() *kai.Topology {
	return &kai.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Spec:       kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: zoneLabel}, {NodeLabel: rackLabel}, {NodeLabel: corev1.LabelHostname}}},
	}
}

func (w *world) nodeName(rack, i int) string { return fmt.Sprintf("%s-r%d-n%d", w.name, rack, i) }

// node is played by KWOK.
func (w *world) node(rack, i int) *corev1.Node {
	return live.FakeNode(w.nodeName(rack, i), map[string]string{
		worldLabel: w.name, zoneLabel: w.name, blockLabel: "block", rackLabel: fmt.Sprintf("rack-%d", rack),
	}, 1)
}

// until waits. When that fails it prints all that the scenario is about.
func (w *world) until(ctx context.Context, t *testing.T, what string, look live.Look) {
	t.Helper()
	w.scenario().Until(ctx, t, what, look)
}

func (w *world) must(ctx context.Context, t *testing.T, err error) {
	t.Helper()
	w.scenario().Must(ctx, t, err)
}

func (w *world) scenario() live.Scenario {
	return live.Scenario{Patience: patience, Report: w.report}
}

// report shows why gangs wait, each PodGroup, where each pod is, each node's taints, and what the scheduler said last.
func (w *world) report(ctx context.Context) string {
	var out strings.Builder
	out.WriteString(cluster.Reasons(ctx, w.name))
	for _, group := range w.podGroups(ctx, &out) {
		fmt.Fprintf(&out, "---\n%s", cluster.Print(ctx, &group))
	}
	pods, err := w.pods(ctx)
	fmt.Fprintf(&out, "--- pods (%v)\n", err)
	for i := range pods {
		pod := &pods[i]
		fmt.Fprintf(&out, "%s on %q, nominated %q, deleted %v", pod.Name, pod.Spec.NodeName, pod.Status.NominatedNodeName, pod.DeletionTimestamp)
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				fmt.Fprintf(&out, ", scheduled %s: %s: %s", condition.Status, condition.Reason, condition.Message)
			}
		}
		out.WriteString("\n")
	}
	var nodes corev1.NodeList
	err = cluster.List(ctx, &nodes, client.MatchingLabels{worldLabel: w.name})
	fmt.Fprintf(&out, "--- nodes (%v)\n", err)
	for i := range nodes.Items {
		fmt.Fprintf(&out, "%s, taints %v\n", nodes.Items[i].Name, nodes.Items[i].Spec.Taints)
	}
	fmt.Fprintf(&out, "--- the scheduler's log\n%s\n", w.logLines())
	return out.String()
}

// logLines are the last lines that the scheduler wrote about this world.
func (w *world) logLines() string {
	return cluster.LogLines(schedulerProgram, w.name, 60)
}

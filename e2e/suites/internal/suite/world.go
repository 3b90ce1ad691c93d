package suite

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/live"
)

// WorldLabel keeps the pods of a story to its nodes, and marks what it makes for the whole cluster.
const WorldLabel = "suite/world"

// World is what one story has for itself: a namespace of its name, and nodes that no other story's pods stand on.
type World struct {
	Cluster *Cluster
	Name    string
	// OperatorDies is whether the operator is killed in the middle of the story.
	OperatorDies bool
	// Shown are the kinds that a report prints, as kubectl takes them.
	Shown string

	witness *Witness
}

// InNamespace makes the world's namespace.
func (w *World) InNamespace(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, w.Cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}))
	return ctx
}

// Populate makes the namespace and nodes, and returns when pods can come. From then on a witness sees every change of
// pods.
func (w *World) Populate(ctx context.Context, t *testing.T, nodes []*corev1.Node) {
	t.Helper()
	w.InNamespace(ctx, t, nil)
	for _, node := range nodes {
		w.Must(ctx, t, w.Cluster.Create(ctx, node))
	}
	w.Until(ctx, t, "every node takes pods", w.Cluster.NodesTakePods(map[string]string{WorldLabel: w.Name}))
	w.Until(ctx, t, "the namespace takes pods", w.Cluster.NamespaceTakesPods(w.Name))
	var err error
	w.witness, err = newWitness(w.Cluster.Server, w.Name)
	w.Must(ctx, t, err)
}

// Leave ends a world. One whose pods all stand costs nothing until the cluster goes, and taking it apart is a sixth
// of what a suite asks of
// the API server: so it stays. One in which a pod waits would take the scheduler's time, and tests that are
// repeated need the room.
func (w *World) Leave(ctx context.Context, t *testing.T, workload client.Object, wide ...client.Object) {
	t.Helper()
	pods, err := w.Pods(ctx)
	w.Must(ctx, t, err)
	waits := slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == "" })
	if waits || flag.Lookup("test.count").Value.String() != "1" {
		w.Depopulate(ctx, t, workload, wide...)
	} else if w.witness != nil {
		w.witness.stop()
	}
}

// Depopulate leaves nothing that could take the scheduler's time: workloads of a kind, and of kinds that have no
// namespace what bears the world's label. The namespace goes by itself.
func (w *World) Depopulate(ctx context.Context, t *testing.T, workload client.Object, wide ...client.Object) {
	t.Helper()
	if w.witness != nil {
		w.witness.stop()
	}
	w.Must(ctx, t, w.Cluster.DeleteAllOf(ctx, workload, client.InNamespace(w.Name)))
	w.Must(ctx, t, w.Cluster.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}))
	for _, kind := range append(wide, &corev1.Node{}) {
		w.Must(ctx, t, w.Cluster.DeleteAllOf(ctx, kind, client.MatchingLabels{WorldLabel: w.Name}))
	}
}

// Pods are those of the namespace.
func (w *World) Pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := w.Cluster.List(ctx, &pods, client.InNamespace(w.Name))
	return pods.Items, err
}

// Until waits. When that fails it prints all that the story is about.
func (w *World) Until(ctx context.Context, t *testing.T, what string, look live.Look) {
	t.Helper()
	w.scenario().Until(ctx, t, what, look)
}

// Must ends the test with a report if there is an error.
func (w *World) Must(ctx context.Context, t *testing.T, err error) {
	t.Helper()
	w.scenario().Must(ctx, t, err)
}

func (w *World) scenario() live.Scenario {
	return live.Scenario{Patience: patience, Report: w.Report}
}

// Report shows why gangs wait, what the story is about, where each pod is, and what the operator said last.
func (w *World) Report(ctx context.Context) string {
	var out strings.Builder
	if ends := w.Cluster.Ends(); ends != "" {
		fmt.Fprintf(&out, "--- programs that ended\n%s\n", ends)
	}
	out.WriteString(w.Cluster.Reasons(ctx, w.Name))
	for _, what := range [][]string{{"get", w.Shown, "-o", "yaml"}, {"get", "events"}} {
		said, err := w.Cluster.Kubectl(ctx, w.Name, what...)
		fmt.Fprintf(&out, "--- kubectl %s (%v)\n%s", strings.Join(what, " "), err, said)
	}
	pods, err := w.Pods(ctx)
	fmt.Fprintf(&out, "--- pods (%v)\n", err)
	for i := range pods {
		pod := &pods[i]
		fmt.Fprintf(&out, "%s of %s on %q, gates %v, ready %v, deleted %v\n",
			pod.Name, Image(pod), pod.Spec.NodeName, pod.Spec.SchedulingGates, IsReady(pod), pod.DeletionTimestamp)
	}
	fmt.Fprintf(&out, "--- the operator's log\n%s\n", w.Cluster.LogLines(w.Cluster.Operator, w.Name, 60))
	return out.String()
}

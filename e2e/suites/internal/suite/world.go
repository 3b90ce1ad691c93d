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

// WorldLabel keeps the pods of a story on its nodes, and marks its cluster-scoped objects.
const WorldLabel = "suite/world"

// World is what one story has for itself: a namespace with its name, and nodes without pods of other stories.
type World struct {
	Cluster *Cluster
	Name    string
	// Operator is the program with the log that is shown when the story fails.
	Operator string
	// OperatorDies reports whether that is killed in the middle of the story.
	OperatorDies bool
	// Shown are the kinds in a report, in kubectl's words.
	Shown string

	witness *Witness
}

// InNamespace makes the world's namespace.
func (w *World) InNamespace(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, w.Cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}))
	return ctx
}

// Populate makes the namespace and nodes, and returns when pods can be created. From then on a witness sees every
// change of pods.
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

// Leave ends a world. A world with all pods placed costs nothing until the cluster is taken down, and deleting it
// would be a sixth of a suite's requests: so it stays. A world with a waiting pod is deleted, because it would take
// the scheduler's time, and so is every world of repeated tests, which need the room.
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

// Depopulate deletes everything that could take the scheduler's time: workloads of a kind, and cluster-scoped objects
// with the world's label. The namespace is deleted in the background.
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

// Until waits. If that fails it prints everything that the story is about.
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

// Report shows why gangs wait, what the story is about, the node of each pod, and the end of the operator's log.
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
	fmt.Fprintf(&out, "--- the operator's log\n%s\n", w.Cluster.LogLines(w.Operator, w.Name, 60))
	return out.String()
}

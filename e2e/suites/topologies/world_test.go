package topologies_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

const (
	// worldLabel keeps the pods of a scenario to its nodes.
	worldLabel = "suite/world"
	// segmentLabel tells which network a node belongs to. Nothing but the checks looks at it.
	segmentLabel = "suite/segment"

	h100, gb200 = "h100", "gb200"
)

// world is what one scenario has for itself: a namespace, nodes that no other scenario's pods stand on, and topologies whose names begin
// with its own.
type world struct {
	name string
	// operatorDies is whether the operator is killed in the middle of the scenario.
	operatorDies bool
}

// rack is some nodes of one network that stand together.
type rack struct {
	segment, zone, block, name string
	nodes, gpus                int
}

// racks are those of every world: GB200 racks of 6 GPUs in blocks, and H100 racks of 8 that have no blocks. Names repeat, as they do in real
// data centres.
var racks = []rack{
	{gb200, "a", "1", "1", 3, 2},
	{gb200, "a", "1", "2", 3, 2},
	{gb200, "a", "2", "1", 3, 2},
	{gb200, "b", "1", "1", 3, 2},
	{h100, "a", "", "1", 2, 4},
	{h100, "a", "", "2", 2, 4},
	{h100, "b", "", "1", 2, 4},
}

func (w *world) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.must(ctx, t, cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}))
	for _, rack := range racks {
		for i := range rack.nodes {
			w.must(ctx, t, cluster.Create(ctx, w.node(rack, i)))
		}
	}
	w.until(ctx, t, "every node takes pods", cluster.NodesTakePods(map[string]string{worldLabel: w.name}))
	w.until(ctx, t, "the namespace takes pods", cluster.NamespaceTakesPods(w.name))
	return ctx
}

// node has the labels of its own network, which no other world knows, and those of the default topology. Both networks call zones the same.
func (w *world) node(r rack, i int) *corev1.Node {
	name := fmt.Sprintf("%s-%s-%s%s%s-%d", w.name, r.segment, r.zone, r.block, r.name, i)
	marks := map[string]string{
		worldLabel: w.name, segmentLabel: r.segment, w.name + "/zone": r.zone, r.segment + "." + w.name + "/rack": r.name,
		corev1.LabelTopologyZone: w.name + "-" + r.zone, "topology.packtree.dev/rack": r.segment + "-" + r.name,
	}
	if r.block != "" {
		marks[r.segment+"."+w.name+"/block"], marks["topology.packtree.dev/block"] = r.block, r.block
	}
	return live.FakeNode(name, marks, r.gpus)
}

// nodesCome adds a rack.
func (w *world) nodesCome(r rack) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for i := range r.nodes {
			w.must(ctx, t, cluster.Create(ctx, w.node(r, i)))
		}
		return ctx
	}
}

// remove leaves nothing that could take the scheduler's time; the namespace goes by itself.
func (w *world) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.must(ctx, t, cluster.DeleteAllOf(ctx, &grove.PodCliqueSet{}, client.InNamespace(w.name)))
	w.must(ctx, t, cluster.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}))
	ours, err := labels.NewRequirement(worldLabel, selection.Equals, []string{w.name})
	w.must(ctx, t, err)
	for _, kind := range []client.Object{&grove.ClusterTopology{}, &corev1.Node{}} {
		w.must(ctx, t, cluster.DeleteAllOf(ctx, kind, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*ours)}))
	}
	return ctx
}

// file is testdata/<name> with $world in it replaced.
func (w *world) file(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	expanded := os.Expand(string(content), func(variable string) string {
		if variable != "world" {
			t.Errorf("testdata/%s: unknown variable %q", name, variable)
		}
		return w.name
	})
	// Not t.TempDir: kubectl takes the comma in the name of a test for the end of a file's.
	file := filepath.Join(cluster.Machine.Dir, w.name+"-"+filepath.Base(name))
	if err := os.WriteFile(file, []byte(expanded), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// applies is kubectl apply of testdata/<file>.
func (w *world) applies(file string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		return w.kubectl("apply", "-f", w.file(t, file))(ctx, t, config)
	}
}

// turnedDown is kubectl apply of testdata/<file> with something wrong in it, and parts of what the user is told.
func (w *world) turnedDown(file string, says ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		return w.refused(says, "apply", "-f", w.file(t, file))(ctx, t, config)
	}
}

// kubectl runs the real one in the world's namespace, again if no operator was there to answer.
func (w *world) kubectl(args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.answer(ctx, t, args...)
		return ctx
	}
}

// answer is what kubectl says when it succeeds.
func (w *world) answer(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	output, err := w.try(ctx, t, args...)
	w.must(ctx, t, err)
	return output
}

// refused has kubectl do what must not be, and looks for parts of what the user is told.
func (w *world) refused(says []string, args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		output, err := w.try(ctx, t, args...)
		if err == nil {
			t.Fatalf("kubectl %s is not refused: %s\n%s", strings.Join(args, " "), output, w.report(ctx))
		}
		mustSay(t, output, says...)
		return ctx
	}
}

// shows looks for parts of what kubectl prints.
func (w *world) shows(says []string, args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.until(ctx, t, fmt.Sprintf("kubectl %s shows %q", strings.Join(args, " "), says), func(ctx context.Context) (bool, string, error) {
			output, err := cluster.Kubectl(ctx, w.name, args...)
			return err == nil && len(missing(output, says)) == 0, output, err
		})
		return ctx
	}
}

// reads waits until a field of an object has a value.
func (w *world) reads(wanted, kind, name, path string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.until(ctx, t, fmt.Sprintf("%s of %s %s is %q", path, kind, name, wanted), func(ctx context.Context) (bool, string, error) {
			output, err := cluster.Kubectl(ctx, w.name, "get", kind, name, "-o", "jsonpath="+path)
			return err == nil && output == wanted, output, err
		})
		return ctx
	}
}

// try returns the first answer that is one: while no operator runs, its webhooks refuse everything, as a user would see and try again.
func (w *world) try(ctx context.Context, t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	w.until(ctx, t, "an operator answers kubectl "+strings.Join(args, " "), func(ctx context.Context) (bool, string, error) {
		output, err = cluster.Kubectl(ctx, w.name, args...)
		return err == nil || !strings.Contains(output, "failed calling webhook"), output, nil
	})
	return output, err
}

func mustSay(t *testing.T, text string, parts ...string) {
	t.Helper()
	if lacks := missing(text, parts); len(lacks) > 0 {
		t.Errorf("it must say %q:\n%s", lacks, text)
	}
}

func missing(text string, parts []string) []string {
	var lacks []string
	for _, part := range parts {
		if !strings.Contains(text, part) {
			lacks = append(lacks, part)
		}
	}
	return lacks
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

// report shows why gangs wait, topologies, sets and gangs, where each pod is, and what the operator said last.
func (w *world) report(ctx context.Context) string {
	var out strings.Builder
	out.WriteString(cluster.Reasons(ctx, w.name))
	for _, what := range [][]string{{"get", "ct", "-o", "yaml"}, {"get", "pcs,pg", "-o", "yaml"}, {"get", "events"}} {
		said, err := cluster.Kubectl(ctx, w.name, what...)
		fmt.Fprintf(&out, "--- kubectl %s (%v)\n%s", strings.Join(what, " "), err, said)
	}
	pods, err := w.pods(ctx)
	fmt.Fprintf(&out, "--- pods (%v)\n", err)
	for i := range pods {
		pod := &pods[i]
		fmt.Fprintf(&out, "%s on %q, gates %v, deleted %v\n", pod.Name, pod.Spec.NodeName, pod.Spec.SchedulingGates, pod.DeletionTimestamp)
	}
	fmt.Fprintf(&out, "--- the operator's log\n%s\n", cluster.LogLines(operator, w.name, 60))
	return out.String()
}

func (w *world) pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := cluster.List(ctx, &pods, client.InNamespace(w.name))
	return pods.Items, err
}

// gangs are the PodGangs of a set; an error if there is none.
func (w *world) gangs(ctx context.Context, set string) ([]scheduler.PodGang, error) {
	var gangs scheduler.PodGangList
	err := cluster.List(ctx, &gangs, client.InNamespace(w.name), client.MatchingLabels{grove.LabelPartOf: set})
	if err == nil && len(gangs.Items) == 0 {
		err = errors.New("no PodGang of " + set)
	}
	return gangs.Items, err
}

func allOf(steps ...types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		for _, step := range steps {
			ctx = step(ctx, t, config)
		}
		return ctx
	}
}

package grove_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// worldLabel keeps the pods of a scenario to its nodes.
const worldLabel = "suite/world"

// world is what one scenario has for itself: a namespace, and nodes that no other scenario's pods stand on.
type world struct {
	name string
	// racks are the numbers of nodes of each rack, gpus how many each node has.
	racks []int
	gpus  int
	// operatorDies is whether the operator is killed in the middle of the scenario.
	operatorDies bool
	witness      *witness
}

func (w *world) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.must(ctx, t, cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}))
	for rack, count := range w.racks {
		for i := range count {
			w.must(ctx, t, cluster.Create(ctx, w.node(rack, i, w.gpus)))
		}
	}
	w.until(ctx, t, "every node takes pods", cluster.NodesTakePods(map[string]string{worldLabel: w.name}))
	w.until(ctx, t, "the namespace takes pods", cluster.NamespaceTakesPods(w.name))
	var err error
	w.witness, err = newWitness(w.name)
	w.must(ctx, t, err)
	return ctx
}

func (w *world) node(rack, i, gpus int) *corev1.Node {
	name := fmt.Sprintf("%s-r%d-n%d", w.name, rack, i)
	return live.FakeNode(name, map[string]string{
		worldLabel: w.name, corev1.LabelTopologyZone: w.name, "topology.packtree.dev/block": "block", "topology.packtree.dev/rack": fmt.Sprintf("rack-%d", rack),
	}, gpus)
}

// nodeComes adds a node to a rack.
func (w *world) nodeComes(rack, i, gpus int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.must(ctx, t, cluster.Create(ctx, w.node(rack, i, gpus)))
		return ctx
	}
}

// remove leaves nothing that could take the scheduler's time; the namespace goes by itself.
func (w *world) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.witness.end()
	w.must(ctx, t, cluster.DeleteAllOf(ctx, &grove.PodCliqueSet{}, client.InNamespace(w.name)))
	w.must(ctx, t, cluster.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}))
	w.must(ctx, t, cluster.DeleteAllOf(ctx, &corev1.Node{}, client.MatchingLabels{worldLabel: w.name}))
	return ctx
}

// applies creates the sets of testdata/<file> in the world, on its nodes.
func (w *world) applies(file string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		objects, err := examples.Objects(filepath.Join("testdata", file), w.name)
		w.must(ctx, t, err)
		for _, object := range objects {
			set := &grove.PodCliqueSet{}
			w.must(ctx, t, strictly(object, set))
			for i := range set.Spec.Template.Cliques {
				set.Spec.Template.Cliques[i].Spec.PodSpec.NodeSelector = map[string]string{worldLabel: w.name}
			}
			w.retry(ctx, t, "creating "+live.Name(object), func(ctx context.Context) error { return cluster.Create(ctx, set) })
		}
		return ctx
	}
}

// edits changes a set as `kubectl edit` does.
func (w *world) edits(name string, change func(*grove.PodCliqueSet)) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.retry(ctx, t, "editing "+name, func(ctx context.Context) error {
			set := &grove.PodCliqueSet{}
			if err := cluster.Get(ctx, client.ObjectKey{Namespace: w.name, Name: name}, set); err != nil {
				return err
			}
			change(set)
			return cluster.Update(ctx, set)
		})
		return ctx
	}
}

// kubectl runs the real one in the world's namespace.
func (w *world) kubectl(args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.retry(ctx, t, "kubectl "+strings.Join(args, " "), func(ctx context.Context) error {
			_, err := cluster.Kubectl(ctx, w.name, args...)
			return err
		})
		return ctx
	}
}

// retry does what a user would do again: while no operator runs, its webhooks refuse changes of sets.
func (w *world) retry(ctx context.Context, t *testing.T, what string, act func(context.Context) error) {
	t.Helper()
	w.until(ctx, t, what+" succeeds", func(ctx context.Context) (bool, string, error) {
		err := act(ctx)
		return err == nil, "", err
	})
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

// report shows why gangs wait, each set, where each pod is, and what the operator said last.
func (w *world) report(ctx context.Context) string {
	var out strings.Builder
	out.WriteString(cluster.Reasons(ctx, w.name))
	var sets grove.PodCliqueSetList
	err := cluster.List(ctx, &sets, client.InNamespace(w.name))
	fmt.Fprintf(&out, "--- sets (%v)\n", err)
	for i := range sets.Items {
		sets.Items[i].SetGroupVersionKind(grove.SchemeGroupVersion.WithKind("PodCliqueSet"))
		out.WriteString(cluster.Print(ctx, &sets.Items[i]))
	}
	pods, err := w.pods(ctx)
	fmt.Fprintf(&out, "--- pods (%v)\n", err)
	for i := range pods {
		pod := &pods[i]
		fmt.Fprintf(&out, "%s of %s on %q, ready %v, deleted %v\n", pod.Name, image(pod), pod.Spec.NodeName, isReady(pod), pod.DeletionTimestamp)
	}
	fmt.Fprintf(&out, "--- the operator's log\n%s\n", cluster.LogLines(operator, w.name, 60))
	return out.String()
}

func (w *world) pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := cluster.List(ctx, &pods, client.InNamespace(w.name))
	return pods.Items, err
}

func allOf(steps ...types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		for _, step := range steps {
			ctx = step(ctx, t, config)
		}
		return ctx
	}
}

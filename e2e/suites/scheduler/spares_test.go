package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

func TestSparesAreKeptForAGangThatLosesANode(t *testing.T) {
	w := newWorld(4)
	stands, comes := w.gang(t, "three-in-a-rack.yaml", "stands"), w.gang(t, "two-in-a-rack.yaml", "comes")
	yields := w.gang(t, "two-in-a-rack.yaml", "yields")
	comes.group.Spec.MinMember, yields.group.Spec.MinMember = new(int32(1)), new(int32(1))
	yields.group.Spec.PriorityClassName = w.Name
	cluster.Test(t, features.New("a rack keeps a spare").
		Setup(suite.AllOf(w.create, w.keepsASpare, w.classComes(-1))).
		Assess("a gang has room beside it", suite.AllOf(stands.exists(3), stands.stands(3))).
		Assess("it is reported", w.packtreeSays([]string{"1 spare kept"}, "tree")).
		Assess("another gang has none, and its PodGroup says why", suite.AllOf(comes.exists(1),
			comes.waits("Infeasible", "kept as spares: 1 of 4 nodes in "+rackLabel),
			w.packtreeSays([]string{"keep 0 nodes of each " + rackLabel + " as spares instead of 1"}, "explain", "comes"))).
		Assess("one that yields may stand there", suite.AllOf(yields.exists(1), yields.stands(1),
			w.packtreeSays([]string{"1 spare kept"}, "tree"))).
		Assess("a node fails, and the gang is whole again on the spare", suite.AllOf(stands.losesANode, stands.stands(3))).
		Assess("who yielded is gone, and the other still waits", suite.AllOf(func(
			ctx context.Context, t *testing.T, _ *envconf.Config,
		) context.Context {
			yields.awaitBound(ctx, t, 0)
			return ctx
		}, comes.waits("Infeasible", ""))).
		Assess("the spare is reported missing", w.packtreeSays([]string{"0 of 1 spare there"}, "tree")).
		Teardown(suite.AllOf(w.classGoes, w.remove)))
}

// keepsASpare has each rack of the world keep a node empty.
func (w *world) keepsASpare(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	said := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, kai.AnnotationSpares,
		fmt.Sprintf(`[{"level":%q,"nodes":1}]`, rackLabel))
	w.Must(ctx, t, cluster.Patch(ctx, w.topology(), client.RawPatch("application/merge-patch+json", []byte(said))))
	return ctx
}

// losesANode has a node of the gang go, and the pod on it with it, which is made again.
func (g *gang) losesANode(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	nodes, err := g.bound(ctx)
	g.world.Must(ctx, t, err)
	g.world.nodeGoes(ctx, t, nodes[g.podName(0)])
	lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: g.podName(0), Namespace: g.world.Name}}
	g.world.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, lost, client.GracePeriodSeconds(0))))
	g.addPod(ctx, t, len(nodes))
	return ctx
}

// packtreeSays waits until the kubectl plugin prints such parts.
func (w *world) packtreeSays(says []string, args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("kubectl packtree %s shows %q", strings.Join(args, " "), says),
			func(ctx context.Context) (bool, string, error) {
				program := filepath.Join(cluster.Machine.Root(), "bin", "kubectl-packtree")
				command := exec.CommandContext(ctx, program, slices.Concat(args, []string{"--namespace", w.Name})...)
				command.Env = append(os.Environ(), "KUBECONFIG="+cluster.Machine.Kubeconfig)
				output, err := command.CombinedOutput()
				return err == nil && len(suite.Missing(string(output), says)) == 0, string(output), err
			})
		return ctx
	}
}

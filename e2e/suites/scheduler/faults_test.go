package scheduler_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

func TestBindingThatFailsIsTriedAgainWhereTheGangStands(t *testing.T) {
	w := newWorld(4, 3)
	g, rival := w.gang(t, "four-in-a-rack.yaml", "four"), w.gang(t, "three-in-a-rack.yaml", "rival")
	denied := w.denial(g.podName(2))
	cluster.Test(t, features.New("binding fails").
		Setup(suite.AllOf(w.create, denied.begins)).
		Assess("the other three pods are bound, and the fourth is refused", suite.AllOf(g.exists(4), denied.refused(g.podName(2)), g.stands(3), g.in("r0"))).
		Assess("a gang that comes now is placed elsewhere", suite.AllOf(rival.exists(3), rival.stands(3), rival.in("r1"))).
		Assess("when bindings succeed again the fourth joins the gang", suite.AllOf(denied.ends, g.stands(4), g.in("r0"))).
		Teardown(suite.AllOf(denied.ends, w.remove)))
}

func TestTaintBetweenPlanAndBind(t *testing.T) {
	w := newWorld(5)
	g := w.gang(t, "four-in-a-rack.yaml", "four")
	denied := w.denial(g.podName(3))
	var tainted string
	cluster.Test(t, features.New("taint between plan and bind").
		Setup(suite.AllOf(w.create, denied.begins)).
		Assess("three pods are bound, and the node of the fourth is tainted before it has it", suite.AllOf(
			g.exists(4), g.stands(3),
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				tainted = denied.wanted(ctx, t, g.podName(3))
				w.taint(ctx, t, tainted)
				return ctx
			})).
		Assess("the fourth stands on the other node of the rack", suite.AllOf(denied.ends, g.stands(4),
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				nodes, err := g.bound(ctx)
				w.Must(ctx, t, err)
				if nodes[g.podName(3)] == tainted {
					t.Errorf("the fourth pod stands on %s, which was tainted before it could be bound\n%s", tainted, w.Report(ctx))
				}
				return ctx
			})).
		Teardown(suite.AllOf(denied.ends, w.remove)))
}

func (w *world) taint(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	node := &corev1.Node{}
	node.Name = name
	w.Must(ctx, t, cluster.Get(ctx, client.ObjectKeyFromObject(node), node))
	before := node.DeepCopy()
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "suite/broken", Effect: corev1.TaintEffectNoSchedule})
	w.Must(ctx, t, cluster.Patch(ctx, node, client.StrategicMergeFrom(before)))
}

func TestSchedulerKilledHalfWayThroughBindingAGang(t *testing.T) {
	w := newWorld(4, 3)
	// The rival would fit into what is left of the first rack, and better there than in the other.
	g, rival := w.gang(t, "four-in-a-rack.yaml", "four"), w.gang(t, "two-in-a-rack.yaml", "rival")
	denied := w.denial(g.podName(2), g.podName(3))
	cluster.Test(t, features.New("scheduler killed").
		Setup(suite.AllOf(w.create, denied.begins)).
		Assess("two of four pods are bound when the scheduler dies", suite.AllOf(
			g.exists(4), denied.refused(g.podName(2)), denied.refused(g.podName(3)), g.stands(2), g.in("r0"), w.schedulerDies)).
		Assess("a gang comes meanwhile that would like the nodes of the other two", suite.AllOf(denied.ends, rival.exists(2))).
		Assess("the next scheduler completes the first gang where it stands", suite.AllOf(w.schedulerStarts, g.stands(4), g.in("r0"))).
		Assess("and the other gang is bound too", suite.AllOf(rival.stands(2), rival.in("r1"))).
		Teardown(suite.AllOf(denied.ends, w.remove)))
}

func (w *world) schedulerDies(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, cluster.Machine.Kill(schedulerProgram))
	return ctx
}

// schedulerStarts returns when it answers. It schedules once the lease of its predecessor has expired.
func (w *world) schedulerStarts(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, cluster.Machine.Start(ctx, schedulerProgram))
	return ctx
}

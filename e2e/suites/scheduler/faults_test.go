package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		Assess("the other three pods are bound, and the fourth is refused",
			suite.AllOf(g.exists(4), denied.denied(g.podName(2)), g.stands(3), g.in("r0"))).
		Assess("a gang that comes now is placed elsewhere", suite.AllOf(rival.exists(3), rival.stands(3),
			rival.in("r1"))).
		Assess("when bindings succeed again the fourth joins the gang",
			suite.AllOf(denied.ends, g.stands(4), g.in("r0"))).
		Teardown(suite.AllOf(denied.ends, w.remove)))
}

func TestNodeThatChangesBetweenPlanAndBindLosesItsPod(t *testing.T) {
	for name, change := range map[string]func(*world) func(context.Context, *corev1.Node) error{
		"is tainted": func(w *world) func(context.Context, *corev1.Node) error {
			return w.changed(func(node *corev1.Node) {
				node.Spec.Taints = append(node.Spec.Taints,
					corev1.Taint{Key: "suite/broken", Effect: corev1.TaintEffectNoSchedule})
			})
		},
		"gets into another rack": func(w *world) func(context.Context, *corev1.Node) error {
			return w.changed(func(node *corev1.Node) { node.Labels[rackLabel] = "rack-elsewhere" })
		},
		"is deleted": func(*world) func(context.Context, *corev1.Node) error {
			return func(ctx context.Context, node *corev1.Node) error { return cluster.Delete(ctx, node) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(5)
			g := w.gang(t, "four-in-a-rack.yaml", "four")
			denied := w.denial(g.podName(3))
			var planned string
			cluster.Test(t, features.New("node "+name+" between plan and bind").
				Setup(suite.AllOf(w.create, denied.begins)).
				Assess("three pods are bound, and the node of the fourth "+name+" before it has it", suite.AllOf(
					g.exists(4), g.stands(3),
					func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
						planned = denied.wanted(ctx, t, g.podName(3), "")
						node := &corev1.Node{}
						w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Name: planned}, node))
						w.Must(ctx, t, change(w)(ctx, node))
						denied.wanted(ctx, t, g.podName(3), planned) // The scheduler knows what became of the node.
						return ctx
					})).
				Assess("the fourth stands on the other node of the rack", suite.AllOf(denied.ends, g.stands(4),
					func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
						nodes, err := g.bound(ctx)
						w.Must(ctx, t, err)
						if nodes[g.podName(3)] == planned {
							t.Errorf("the fourth pod stands on %s, which changed before it could be bound\n%s", planned,
								w.Report(ctx))
						}
						return ctx
					})).
				Teardown(suite.AllOf(denied.ends, w.remove)))
		})
	}
}

// changed patches a node.
func (w *world) changed(change func(*corev1.Node)) func(context.Context, *corev1.Node) error {
	return func(ctx context.Context, node *corev1.Node) error {
		before := node.DeepCopy()
		change(node)
		return cluster.Patch(ctx, node, client.StrategicMergeFrom(before))
	}
}

func TestGangThatLostAPodForGoodIsStoppedAfterItsGracePeriod(t *testing.T) {
	w := newWorld(4)
	g := w.gang(t, "four-in-a-rack.yaml", "four")
	g.group.Spec.StalenessGracePeriod = &metav1.Duration{Duration: time.Second}
	cluster.Test(t, features.New("one pod lost for good").
		Setup(w.create).
		Assess("four pods stand", suite.AllOf(g.exists(4), g.stands(4))).
		Assess("without the fourth, which nobody makes again, the others are stopped",
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				w.Must(ctx, t, cluster.Delete(ctx, g.pod(3), client.GracePeriodSeconds(0)))
				w.Until(ctx, t, "all pods of the gang are gone", func(ctx context.Context) (bool, string, error) {
					pods, err := w.Pods(ctx)
					return len(pods) == 0, fmt.Sprintf("%d are left", len(pods)), err
				})
				return ctx
			}).
		Assess("made again, all of them start together", suite.AllOf(
			g.podComes(0), g.podComes(1), g.podComes(2), g.podComes(3), g.stands(4))).
		Teardown(w.remove))
}

func TestSchedulerKilledHalfWayThroughBindingAGang(t *testing.T) {
	w := newWorld(4, 3)
	// The rival would fit into the rest of the first rack, and better there than in the other.
	g, rival := w.gang(t, "four-in-a-rack.yaml", "four"), w.gang(t, "two-in-a-rack.yaml", "rival")
	denied := w.denial(g.podName(2), g.podName(3))
	cluster.Test(t, features.New("scheduler killed").
		Setup(suite.AllOf(w.create, denied.begins)).
		Assess("two of four pods are bound when the scheduler dies", suite.AllOf(
			g.exists(4), denied.denied(g.podName(2)), denied.denied(g.podName(3)), g.stands(2), g.in("r0"),
			w.schedulerDies)).
		Assess("a gang comes meanwhile that would like the nodes of the other two",
			suite.AllOf(denied.ends, rival.exists(2))).
		Assess("the next scheduler completes the first gang where it stands",
			suite.AllOf(w.schedulerStarts, g.stands(4), g.in("r0"))).
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

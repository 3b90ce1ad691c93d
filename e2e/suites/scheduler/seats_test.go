package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/apiproxy"
	"packtree.dev/e2e/suites/internal/suite"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestBindingThatFailedOnceLosesNoSeat(t *testing.T) {
	for name, fate := range map[string]apiproxy.Fate{
		"with an internal error":       apiproxy.Refused,
		"for its answer came too late": apiproxy.Unanswered,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(4)
			g, thief := w.gang(t, "four-in-a-rack.yaml", "four"), w.gang(t, "two-in-a-rack.yaml", "thief")
			thief.group.Spec.MinMember = new(int32(1))
			failed := w.denial(g.podName(2)).once(fate)
			cluster.Test(t, features.New("binding fails once "+name).
				Setup(suite.AllOf(w.create, failed.begins)).
				Assess("somebody waits for a single node of the rack", suite.AllOf(
					g.exists(3), thief.exists(0), g.podComes(3), thief.podComes(0), failed.denied(g.podName(2)))).
				Assess("the gang stands whole, and the other one waits",
					suite.AllOf(g.stands(4), thief.waits(scheduling.ReasonInfeasible, ""))).
				Teardown(suite.AllOf(failed.ends, w.remove)))
		})
	}
}

func TestPodDeletedWhileItIsAssumedFreesItsSeatAtOnce(t *testing.T) {
	w := newWorld(4)
	g := w.gang(t, "four-in-a-rack.yaml", "four")
	denied := w.denial(g.podName(0), g.podName(1), g.podName(2), g.podName(3))
	cluster.Test(t, features.New("pod with a finalizer").
		Setup(suite.AllOf(w.create, denied.begins)).
		Assess("a gang is let go and not bound yet", suite.AllOf(
			g.exists(4), denied.denied(g.podName(0)), denied.denied(g.podName(3)))).
		Assess("one of its pods is deleted, and its finalizer keeps it: the gang says that one is missing", suite.AllOf(
			g.podIsLeaving(3), g.waits(scheduling.ReasonIncomplete, ""))).
		Assess("with another pod in its place the gang stands, while the old one is still there", suite.AllOf(
			g.podComes(4), denied.ends, g.stands(4), g.isThere(3))).
		Teardown(suite.AllOf(denied.ends, g.finalizerGoes(3), w.remove)))
}

// finalizer has no controller, so that its pods stay until a scenario removes it.
const finalizer = "suite.packtree.dev/kept"

// podIsLeaving deletes a pod, which stays until finalizerGoes.
func (g *gang) podIsLeaving(i int) types.StepFunc {
	return suite.AllOf(g.finalizersBecome(i, fmt.Sprintf("[%q]", finalizer)), g.podIsDeleted(i))
}

func (g *gang) podIsDeleted(i int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.world.Must(ctx, t, cluster.Delete(ctx, g.pod(i), client.GracePeriodSeconds(0)))
		return ctx
	}
}

// isThere checks that a pod that was deleted is not gone, and has no node.
func (g *gang) isThere(i int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pod := g.pod(i)
		g.world.Must(ctx, t, cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod))
		if pod.DeletionTimestamp == nil || pod.Spec.NodeName != "" {
			t.Errorf("pod %s: deleted %v, on node %q\n%s", pod.Name, pod.DeletionTimestamp, pod.Spec.NodeName,
				g.world.Report(ctx))
		}
		return ctx
	}
}

func (g *gang) finalizerGoes(i int) types.StepFunc { return g.finalizersBecome(i, "null") }

func (g *gang) finalizersBecome(i int, finalizers string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"finalizers":%s}}`, finalizers))
		g.world.Must(ctx, t, client.IgnoreNotFound(cluster.Patch(ctx, g.pod(i), patch)))
		return ctx
	}
}

func TestPodAboveTheMinimumTakesNoSeatOfItsOwnGang(t *testing.T) {
	w := newWorld(4)
	g := w.gang(t, "four-in-a-rack.yaml", "four")
	denied := w.denial(g.podName(3))
	cluster.Test(t, features.New("pod above the minimum").
		Setup(suite.AllOf(w.create, denied.begins)).
		Assess("three of four pods are bound, and the seat of the fourth is its own",
			suite.AllOf(g.exists(4), denied.denied(g.podName(3)), g.stands(3))).
		Assess("a fifth comes, and the fourth gets the seat", suite.AllOf(g.podComes(4), w.sees(g.podName(4)),
			denied.ends, g.stands(4),
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				nodes, err := g.bound(ctx)
				w.Must(ctx, t, err)
				if nodes[g.podName(3)] == "" {
					t.Errorf("the pods above the minimum stand, and one of the minimum does not: %v\n%s", nodes,
						w.Report(ctx))
				}
				return ctx
			})).
		Assess("with one more node the fifth follows", suite.AllOf(w.nodeComes(0, 9), g.stands(5))).
		Teardown(suite.AllOf(denied.ends, w.remove)))
}

// sees waits until the scheduler has tried a pod and said why it has no node.
func (w *world) sees(pod string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "pod "+pod+" says why it has no node", func(ctx context.Context) (bool, string, error) {
			pods, err := w.Pods(ctx)
			for i := range pods {
				for _, condition := range pods[i].Status.Conditions {
					if pods[i].Name == pod && condition.Type == "PodScheduled" && condition.Message != "" {
						return true, "", err
					}
				}
			}
			return false, fmt.Sprintf("none of %d pods is it", len(pods)), err
		})
		return ctx
	}
}

func TestSchedulerThatStartsTakesGangsInTheirOrder(t *testing.T) {
	w := newWorld(4)
	// The first comes first, and the last has precedence: more gangs in between would only make the start longer.
	var gangs []*gang
	create := []types.StepFunc{w.schedulerDies}
	for i := range 8 {
		g := w.gang(t, "three-in-a-rack.yaml", fmt.Sprintf("gang-%d", i))
		gangs, create = append(gangs, g), append(create, g.exists(3))
	}
	last := gangs[len(gangs)-1]
	last.group.Spec.PriorityClassName = w.Name
	last.group.Spec.Preemptibility = scheduling.NonPreemptible
	for _, g := range gangs[:len(gangs)-1] {
		// One of them that is placed too early stays, so that the wrong order shows.
		g.group.Spec.Preemptibility = scheduling.NonPreemptible
	}
	cluster.Test(t, features.New("order after a start").
		Setup(suite.AllOf(w.create, w.classComes(1000))).
		Assess("gangs come while no scheduler runs", suite.AllOf(create...)).
		Assess("the one of the highest priority gets the rack", suite.AllOf(w.schedulerStarts, last.stands(3))).
		Assess("and the others wait", func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
			for _, g := range gangs[:len(gangs)-1] {
				g.waits(scheduling.ReasonInfeasible, "")(ctx, t, config)
			}
			return ctx
		}).
		Teardown(suite.AllOf(w.classGoes, w.remove)))
}

// keeps waits until the status of the gang has so many domains that are kept for it.
func (g *gang) keeps(domains int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.world.Until(ctx, t, fmt.Sprintf("PodGroup %s names %d domains that are kept for it", g.name, domains),
			func(ctx context.Context) (bool, string, error) {
				group := &scheduling.PodGroup{}
				err := cluster.Get(ctx, client.ObjectKeyFromObject(g.group), group)
				kept := 0
				for _, reservation := range group.Status.Reservations {
					if reservation.Reason == scheduling.ReservationOvertaken && reservation.Domain != "" &&
						reservation.Level != "" && len(reservation.Resources) > 0 {
						kept++
					}
				}
				return kept == domains && len(group.Status.Reservations) == domains,
					fmt.Sprintf("%+v", group.Status.Reservations), err
			})
		return ctx
	}
}

func TestRoomIsKeptForAGangThatOthersHaveOvertaken(t *testing.T) {
	w := newWorld(4)
	// One pod each: they fit beside the first where the big one does not.
	single := func(name string) *gang {
		g := w.gang(t, "two-in-a-rack.yaml", name)
		g.group.Spec.MinMember = new(int32(1))
		return g
	}
	first, late, big := single("first"), single("late"), w.gang(t, "four-in-a-rack.yaml", "big")
	const overtakes = 8
	cluster.Test(t, features.New("room that is kept").
		Setup(w.create).
		Assess("a pod stands in the rack, and a gang waits for all of it", suite.AllOf(
			first.exists(1), first.stands(1), big.exists(4), big.waits(scheduling.ReasonInfeasible,
				"3 of 4 pods fit"))).
		Assess("others come after it, stand and go", func(ctx context.Context, t *testing.T,
			config *envconf.Config) context.Context {
			for i := range overtakes {
				g := single(fmt.Sprintf("passing-%d", i))
				suite.AllOf(g.exists(1), g.stands(1), g.goes)(ctx, t, config)
			}
			return ctx
		}).
		Assess("the next one says whom the room is kept for", suite.AllOf(
			late.exists(1), late.waits(scheduling.ReasonInfeasible, "is kept for gang "+w.Name+"/big"))).
		Assess("the status of the big one says where", big.keeps(1)).
		Assess("with the first one gone the big one stands, and the status of the other says what was decided last",
			suite.AllOf(
				first.goes, big.stands(4), big.keeps(0), late.waits(scheduling.ReasonInfeasible, "0 of 1 pods fit"))).
		Teardown(w.remove))
}

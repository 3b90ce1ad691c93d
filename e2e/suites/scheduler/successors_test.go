package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// single is a gang of one pod that fits wherever a node is free.
func (w *world) single(t *testing.T, name string) *gang {
	g := w.gang(t, "two-in-a-rack.yaml", name)
	g.group.Spec.MinMember = new(int32(1))
	return g
}

// ownedGang is a gang of two pods that their owner makes again: here the test, in the name of the PodGroup. Its seats
// are held for the given time.
func (w *world) ownedGang(t *testing.T, name, hold string) *gang {
	g := w.gang(t, "two-in-a-rack.yaml", name)
	g.group.Annotations = map[string]string{scheduling.AnnotationSeatHold: hold}
	return g
}

// isOwned creates the PodGroup and two pods that are owned by it.
func (g *gang) isOwned(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	made := g.group.DeepCopy()
	g.world.Must(ctx, t, cluster.Create(ctx, made))
	g.owner = metav1.NewControllerRef(made, scheduling.GroupVersion.WithKind("PodGroup"))
	g.addPod(ctx, t, 0)
	g.addPod(ctx, t, 1)
	return ctx
}

// holds waits until the status of the PodGroup has so many seats.
func (g *gang) holds(count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		what := fmt.Sprintf("%d seats are held for %s", count, g.name)
		g.world.Until(ctx, t, what, func(ctx context.Context) (bool, string, error) {
			read := &scheduling.PodGroup{}
			err := cluster.Get(ctx, client.ObjectKeyFromObject(g.group), read)
			seats := 0
			for _, seat := range read.Status.Seats {
				seats += len(seat.Nodes)
			}
			return err == nil && seats == count, fmt.Sprintf("there are %d", seats), err
		})
		return ctx
	}
}

func TestSuccessorGetsTheSeatAlsoFromTheNextScheduler(t *testing.T) {
	w := newWorld(2)
	g, waiting := w.ownedGang(t, "standing", "10m"), w.single(t, "waiting")
	cluster.Test(t, features.New("a seat that is held").
		Setup(w.create).
		Assess("on a full cluster a gang of the same priority waits", standsBefore(g, waiting)).
		Assess("a pod of the one that stands is deleted, and its seat is held", suite.AllOf(
			g.podIsDeleted(0), g.holds(1), g.stands(1), waiting.hasNone)).
		Assess("its successor gets the node", suite.AllOf(g.podComes(2), g.stands(2), g.holds(0), waiting.hasNone)).
		Assess("another one is deleted, and the scheduler dies", suite.AllOf(g.podIsDeleted(1), g.holds(1),
			w.schedulerDies)).
		Assess("the next scheduler leaves the seat to the successor, which comes late", suite.AllOf(
			w.schedulerStarts, waiting.podComes(1), w.sees(waiting.podName(1)), waiting.hasNone,
			g.podComes(3), g.stands(2),
			g.holds(0), waiting.hasNone)).
		Teardown(w.remove))
}

func TestHigherPriorityTakesASeatAndSaysSo(t *testing.T) {
	w := newWorld(2)
	g, urgent := w.ownedGang(t, "standing", "10m"), w.single(t, "urgent")
	urgent.group.Spec.PriorityClassName = w.Name
	g.group.Spec.Preemptibility = scheduling.NonPreemptible
	cluster.Test(t, features.New("a seat that is taken").
		Setup(suite.AllOf(w.create, w.classComes(1000))).
		Assess("a pod leaves a full cluster", suite.AllOf(g.isOwned, g.stands(2), g.podIsDeleted(0), g.holds(1))).
		Assess("a gang of higher priority gets its node, and the event says so", suite.AllOf(
			urgent.exists(1), urgent.stands(1),
			w.HasEvent("PodGroup", g.name, "SeatTaken", "goes to PodGroup "+w.Name+"/urgent, of higher priority"),
			g.holds(0))).
		Teardown(suite.AllOf(w.classGoes, w.remove)))
}

func TestSeatGoesToOthersWhenNoSuccessorComes(t *testing.T) {
	w := newWorld(2)
	g, waiting := w.ownedGang(t, "standing", "5s"), w.single(t, "waiting")
	cluster.Test(t, features.New("a seat that expires").
		Setup(w.create).
		Assess("a gang waits on a full cluster", standsBefore(g, waiting)).
		Assess("a pod leaves, and its seat is held", suite.AllOf(g.podIsLeaving(0), g.holds(1))).
		Assess("its room is the other gang's some time after it is gone",
			suite.AllOf(g.finalizerGoes(0), waiting.stands(1), g.holds(0))).
		Teardown(suite.AllOf(g.finalizerGoes(0), w.remove)))
}

func TestPodThatHasDoneItsWorkLeavesNoSeat(t *testing.T) {
	w := newWorld(2)
	g, waiting := w.ownedGang(t, "standing", "1h"), w.single(t, "waiting")
	cluster.Test(t, features.New("no seat of a pod that is done").
		Setup(w.create).
		Assess("a gang waits on a full cluster", standsBefore(g, waiting)).
		Assess("its room is the other gang's when a pod has done its work",
			suite.AllOf(g.podSucceeds(0), waiting.stands(1), g.holds(0))).
		Teardown(w.remove))
}

// standsBefore places a gang on all nodes, and makes another one wait.
func standsBefore(g, waiting *gang) types.StepFunc {
	return suite.AllOf(g.isOwned, g.stands(2), waiting.exists(1), waiting.hasNone)
}

// podSucceeds ends a pod with success.
func (g *gang) podSucceeds(i int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pod := &corev1.Pod{}
		g.world.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Namespace: g.world.Name, Name: g.podName(i)}, pod))
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodSucceeded
		g.world.Must(ctx, t, cluster.Status().Patch(ctx, pod, client.MergeFrom(before)))
		return ctx
	}
}

// hasNone checks that the gang waits, and that none of its pods has a node.
func (g *gang) hasNone(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	return g.waits(scheduling.ReasonInfeasible, "")(ctx, t, config)
}

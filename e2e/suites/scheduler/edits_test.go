package scheduler_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestPodGroupEditedWhileItWaitsIsDecidedAnew(t *testing.T) {
	w := newWorld(3, 3)
	spread := w.gang(t, "four-in-a-rack.yaml", "spread")
	fewer := w.gang(t, "four-in-a-rack.yaml", "fewer")
	cluster.Test(t, features.New("PodGroup edited").
		Setup(w.create).
		Assess("four pods find no rack", suite.AllOf(spread.exists(4), spread.waits(scheduling.ReasonInfeasible, ""))).
		Assess("two racks of a zone will do now", suite.AllOf(
			spread.edited(
				func(spec *scheduling.PodGroupSpec) { spec.TopologyConstraint.RequiredTopologyLevel = zoneLabel }),
			spread.standsAnywhere(4))).
		Assess("another four find no room beside them",
			suite.AllOf(fewer.exists(4), fewer.waits(scheduling.ReasonInfeasible, ""))).
		Assess("one pod will do now", suite.AllOf(
			fewer.edited(func(spec *scheduling.PodGroupSpec) { spec.MinMember = new(int32(1)) }), fewer.standsSome(1))).
		Teardown(w.remove))
}

func (g *gang) edited(change func(*scheduling.PodGroupSpec)) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		group := &scheduling.PodGroup{}
		g.world.Must(ctx, t, cluster.Get(ctx, client.ObjectKeyFromObject(g.group), group))
		before := group.DeepCopy()
		change(&group.Spec)
		g.world.Must(ctx, t, cluster.Patch(ctx, group, client.MergeFrom(before)))
		return ctx
	}
}

// standsAnywhere waits until as many pods are bound, in whatever racks.
func (g *gang) standsAnywhere(count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.awaitBound(ctx, t, count)
		return ctx
	}
}

// standsSome waits until at least as many pods are bound, and the PodGroup says that its gang is placed.
func (g *gang) standsSome(atLeast int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.awaitReason(ctx, t, scheduling.ReasonPlaced, "")
		nodes, err := g.bound(ctx)
		g.world.Must(ctx, t, err)
		if len(nodes) < atLeast {
			t.Errorf("gang %s is placed with %d pods bound\n%s", g.name, len(nodes), g.world.Report(ctx))
		}
		return ctx
	}
}

func TestTopologyDeletedAndCreatedAgain(t *testing.T) {
	w := newWorld(5)
	early, late := w.gang(t, "three-in-a-rack.yaml", "early"), w.gang(t, "two-in-a-rack.yaml", "late")
	cluster.Test(t, features.New("Topology deleted").
		Setup(w.create).
		Assess("a gang stands", suite.AllOf(early.exists(3), early.stands(3))).
		Assess("without the Topology a new gang waits and says which is missing",
			suite.AllOf(w.topologyGoes, late.exists(0), late.waits(scheduling.ReasonInvalid, w.Name), late.podComes(0),
				late.podComes(1), late.waits(scheduling.ReasonInvalid, w.Name))).
		Assess("and the standing one is left alone", early.stands(3)).
		Assess("with the Topology the new gang is bound", suite.AllOf(w.topologyComes, late.stands(2))).
		Teardown(w.remove))
}

func (w *world) topologyGoes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	topology := w.topology()
	w.Must(ctx, t, cluster.Delete(ctx, topology))
	w.Until(ctx, t, "the Topology is gone", func(ctx context.Context) (bool, string, error) {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(topology), topology)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "it is there", err
	})
	return ctx
}

func (w *world) topologyComes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, cluster.Create(ctx, w.topology()))
	return ctx
}

package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestGangIsBoundAllOrNothing(t *testing.T) {
	w := newWorld(3, 3)
	g := w.gang(t, "four-in-a-rack.yaml", "four")
	cluster.Test(t, features.New("gang").
		Setup(w.create).
		Assess("with three of four pods it waits for the fourth",
			suite.AllOf(g.exists(3), g.waits(scheduling.ReasonIncomplete, ""))).
		Assess("complete, it says that no rack has room",
			suite.AllOf(g.podComes(3), g.waits(scheduling.ReasonInfeasible, ""))).
		Assess("with one more node in a rack it is bound there", suite.AllOf(w.nodeComes(1, 3), g.stands(4))).
		Assess("a pod above the minimum follows when there is room in that rack",
			suite.AllOf(g.podComes(4), w.nodeComes(1, 4), g.stands(5))).
		Teardown(w.remove))
}

func TestGangsThatCompeteForARackArePlacedOneByOne(t *testing.T) {
	const competitors = 6
	w := newWorld(8)
	gangs := make([]*gang, competitors)
	for i := range gangs {
		gangs[i] = w.gang(t, "three-in-a-rack.yaml", fmt.Sprintf("rival-%d", i))
	}
	cluster.Test(t, features.New("competition").
		Setup(w.create).
		Assess("all come at once, pod by pod in turn",
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				for _, g := range gangs {
					g.create(ctx, t, 0)
				}
				for pod := range 3 {
					for _, g := range gangs {
						g.addPod(ctx, t, pod)
					}
				}
				return ctx
			}).
		Assess("as many as fit are placed, again and again as others go",
			func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
				for len(gangs) > 0 {
					placed := w.placedOf(ctx, t, gangs, min(2, len(gangs)), 3)
					placed[0].goes(ctx, t, config)
					gangs = without(gangs, placed[0])
				}
				return ctx
			}).
		Teardown(w.remove))
}

// placedOf waits until as many gangs are placed and each of the others has the condition that it cannot fit, and
// returns the placed ones.
func (w *world) placedOf(ctx context.Context, t *testing.T, gangs []*gang, count, pods int) []*gang {
	t.Helper()
	var placed []*gang
	w.Until(ctx, t, fmt.Sprintf("%d of %d gangs are bound whole and the others have no pod bound and know why", count,
		len(gangs)),
		func(ctx context.Context) (bool, string, error) {
			placed = nil
			waiting := 0
			for _, g := range gangs {
				nodes, err := g.bound(ctx)
				if err != nil {
					return false, "", err
				}
				condition, err := g.scheduled(ctx)
				switch {
				case err != nil:
					return false, "", err
				case len(nodes) == pods:
					placed = append(placed, g)
				case len(nodes) == 0 && condition != nil && condition.Reason == scheduling.ReasonInfeasible:
					waiting++
				}
			}
			return len(placed) == count &&
					len(placed)+waiting == len(gangs), fmt.Sprintf("%d are bound, %d know why not",
					len(placed), waiting), nil
		})
	return placed
}

func without(gangs []*gang, gone *gang) []*gang {
	var left []*gang
	for _, g := range gangs {
		if g != gone {
			left = append(left, g)
		}
	}
	return left
}

func TestGangOnANodeThatIsDeletedIsMendedInItsRack(t *testing.T) {
	// The other rack has room for a replacement, and not for the gang.
	w := newWorld(5, 3)
	g := w.gang(t, "four-in-a-rack.yaml", "four")
	cluster.Test(t, features.New("node deleted").
		Setup(w.create).
		Assess("the gang stands in the rack that has room for it", suite.AllOf(g.exists(4), g.stands(4), g.in("r0"))).
		Assess("its replacement goes to the last node of that rack",
			suite.AllOf(g.nodeGoes(0), g.podComes(4), g.stands(4), g.in("r0"))).
		Assess("the next one waits, for the rack is full and no other will do",
			suite.AllOf(g.nodeGoes(1), g.podComes(5), g.waitsBeside(3))).
		Assess("and stands there when the rack has a node again",
			suite.AllOf(w.nodeComes(0, 9), g.stands(4), g.in("r0"))).
		Teardown(w.remove))
}

// nodeGoes deletes the node of a pod, and the pod, as the garbage collector does a minute later.
func (g *gang) nodeGoes(pod int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		nodes, err := g.bound(ctx)
		g.world.Must(ctx, t, err)
		g.world.nodeGoes(ctx, t, nodes[g.podName(pod)])
		g.world.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, g.pod(pod), client.GracePeriodSeconds(0))))
		return ctx
	}
}

// in checks that the gang is in that rack.
func (g *gang) in(rack string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		racks, err := g.racks(ctx)
		g.world.Must(ctx, t, err)
		if len(racks) != 1 || racks[0] != rack {
			t.Errorf("gang %s stands in %v, not in %s\n%s", g.name, racks, rack, g.world.Report(ctx))
		}
		return ctx
	}
}

// waitsBeside waits until the PodGroup says that it runs below its minimum, and checks that no more than the standing
// pods are bound.
func (g *gang) waitsBeside(standing int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.awaitReason(ctx, t, scheduling.ReasonBelowMinimum, "0 of 1 pods fit")
		nodes, err := g.bound(ctx)
		g.world.Must(ctx, t, err)
		if len(nodes) != standing {
			t.Errorf("%d pods of gang %s are bound, not %d\n%s", len(nodes), g.name, standing, g.world.Report(ctx))
		}
		return ctx
	}
}

// nodeComes adds a node to a rack.
func (w *world) nodeComes(rack, i int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Must(ctx, t, cluster.Create(ctx, w.node(rack, i)))
		return ctx
	}
}

package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

func TestReplicasOfASetStandApartThroughTheLossOfANodeAndARollout(t *testing.T) {
	w := newWorld(3, 3)
	w.zones = true
	var before suite.Memory
	first, second := w.gangNamed("set-0"), w.gangNamed("set-1")
	cluster.Test(t, features.New("replicas apart").
		Setup(w.create).
		Assess("each replica stands in a zone of its own",
			suite.AllOf(w.setComes, first.stands(2), second.stands(2), first.apartFrom(second))).
		Assess("what is made for a lost pod goes to the zone of its replica, though the other has room too",
			suite.AllOf(first.oneNodeGoes, first.stands(2), second.stands(2), first.apartFrom(second),
				w.Remembers(w.pods, &before))).
		Assess("so do the pods of a new template, all of them",
			suite.AllOf(w.setIsUpdated, w.allAreNew(&before), first.stands(2), second.stands(2),
				first.apartFrom(second))).
		Teardown(suite.AllOf(w.setGoes, w.remove)))
}

// oneNodeGoes deletes the node of the first of the gang's pods, and the pod, as the garbage collector does a minute
// later.
func (g *gang) oneNodeGoes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	nodes, err := g.bound(ctx)
	g.world.Must(ctx, t, err)
	name := slices.Sorted(maps.Keys(nodes))[0]
	g.world.nodeGoes(ctx, t, nodes[name])
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: g.world.Name}}
	g.world.Must(ctx, t, cluster.Delete(ctx, pod, client.GracePeriodSeconds(0)))
	return ctx
}

// setIsUpdated changes the template, so that all pods are replaced.
func (w *world) setIsUpdated(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	set := w.set(t)
	w.Must(ctx, t, cluster.Get(ctx, client.ObjectKeyFromObject(set), set))
	before := set.DeepCopy()
	set.Spec.Template.Cliques[0].Spec.PodSpec.Containers[0].Env = []corev1.EnvVar{{Name: "TEMPLATE", Value: "new"}}
	w.Must(ctx, t, cluster.Patch(ctx, set, client.MergeFrom(before)))
	return ctx
}

// pods records the present pods.
func (w *world) pods(ctx context.Context) (suite.Memory, error) {
	found, err := w.Pods(ctx)
	seen := suite.Memory{}
	for i := range found {
		seen[string(found[i].UID)] = found[i].UID
	}
	return seen, err
}

// allAreNew waits until all earlier pods are gone, and as many others have a node.
func (w *world) allAreNew(before *suite.Memory) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		t.Helper()
		w.Until(ctx, t, "all pods are new", func(ctx context.Context) (bool, string, error) {
			found, err := w.Pods(ctx)
			old, standing := 0, 0
			for i := range found {
				if _, was := (*before)[string(found[i].UID)]; was {
					old++
				} else if found[i].Spec.NodeName != "" {
					standing++
				}
			}
			return old == 0 && standing == len(*before), fmt.Sprintf("%d are old, %d new ones stand", old, standing),
				err
		})
		return ctx
	}
}

// apartFrom checks that two gangs are in one rack each, and not in the same.
func (g *gang) apartFrom(other *gang) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		ours, err := g.racks(ctx)
		g.world.Must(ctx, t, err)
		theirs, err := other.racks(ctx)
		g.world.Must(ctx, t, err)
		if len(ours) != 1 || len(theirs) != 1 || ours[0] == theirs[0] {
			t.Errorf("gang %s stands in %v, and gang %s in %v\n%s", g.name, ours, other.name, theirs,
				g.world.Report(ctx))
		}
		return ctx
	}
}

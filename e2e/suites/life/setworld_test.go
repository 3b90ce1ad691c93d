package life_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// setWorld is what one story has for itself.
type setWorld struct {
	suite.World
	// racks are the numbers of nodes of each rack, gpus how many each node has.
	racks []int
	gpus  int
}

func newSetWorld(with setWorld, operatorDies bool) *setWorld {
	with.World = suite.World{Cluster: cluster, Name: envconf.RandomName("life", 12), Operator: suite.GroveOperator,
		OperatorDies: operatorDies, Shown: "pcs"}
	return &with
}

func (w *setWorld) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	var nodes []*corev1.Node
	for rack, count := range w.racks {
		for i := range count {
			nodes = append(nodes, w.node(rack, i, w.gpus))
		}
	}
	w.Populate(ctx, t, nodes)
	return ctx
}

func (w *setWorld) node(rack, i, gpus int) *corev1.Node {
	name := fmt.Sprintf("%s-r%d-n%d", w.Name, rack, i)
	return live.FakeNode(name, map[string]string{
		suite.WorldLabel: w.Name, corev1.LabelTopologyZone: w.Name, "topology.packtree.dev/block": "block",
		"topology.packtree.dev/rack": fmt.Sprintf("rack-%d", rack),
	}, gpus)
}

func (w *setWorld) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Depopulate(ctx, t, &grove.PodCliqueSet{})
	return ctx
}

// applies creates the sets of testdata/sets/<file> in the world, on its nodes.
func (w *setWorld) applies(file string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		objects, err := examples.Objects(filepath.Join("testdata", "sets", file), w.Name)
		w.Must(ctx, t, err)
		for _, object := range objects {
			set := &grove.PodCliqueSet{}
			w.Must(ctx, t, strictly(object, set))
			for i := range set.Spec.Template.Cliques {
				set.Spec.Template.Cliques[i].Spec.PodSpec.NodeSelector = map[string]string{suite.WorldLabel: w.Name}
			}
			w.retry(ctx, t, "creating "+live.Name(object),
				func(ctx context.Context) error { return cluster.Create(ctx, set) })
		}
		return ctx
	}
}

// edits changes a set as `kubectl edit` does.
func (w *setWorld) edits(name string, change func(*grove.PodCliqueSet)) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.retry(ctx, t, "editing "+name, func(ctx context.Context) error {
			set := &grove.PodCliqueSet{}
			if err := cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, set); err != nil {
				return err
			}
			change(set)
			return cluster.Update(ctx, set)
		})
		return ctx
	}
}

// retry repeats an action as a user would: while no operator runs, its webhooks refuse changes of sets.
func (w *setWorld) retry(ctx context.Context, t *testing.T, what string, act func(context.Context) error) {
	t.Helper()
	w.Until(ctx, t, what+" succeeds", func(ctx context.Context) (bool, string, error) {
		err := act(ctx)
		return err == nil, "", err
	})
}

package life_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

// near is a deployment that must share the block of another one. The other one comes later, stays, and leaves no room
// for a third worker.
func near(w *world) *features.FeatureBuilder {
	workers := func(count int) pods { return pods{"Decode": fmt.Sprintf("%d of vllm:1", count)} }
	return features.New("near").
		Setup(w.create).
		Assess("the deployment waits for the other, and names it",
			suite.AllOf(w.Applies("deployments/near.yaml"), w.waits("serving", "router-0"))).
		Assess("when that comes both stand in its block", suite.AllOf(
			w.Applies("deployments/router.yaml"), w.runs("router", pods{"Router": "1 of router:1"}),
			w.stands("serving", workers(2)), w.standInBlock("2", 3))).
		Assess("what replaces a worker of a node that is lost stands there too, though another block is free",
			suite.AllOf(
				w.nodeIsReplaced("serving"), w.stands("serving", workers(2)), w.standInBlock("2", 3))).
		Assess("a third worker waits for room there, and says so", suite.AllOf(
			w.asksFor("serving", "Decode", 3), w.waits("serving", "Decode: 1 of 3 pods wait", "gang router-0 by",
				"nvidia.com/gpu"))).
		Assess("and nobody has moved", w.standInBlock("2", 3)).
		Teardown(w.remove)
}

// standInBlock checks that so many pods have a node, all of them in one block of zone a.
func (w *world) standInBlock(block string, count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		t.Helper()
		found, err := w.Pods(ctx)
		w.Must(ctx, t, err)
		standing := 0
		for i := range found {
			if found[i].Spec.NodeName == "" {
				continue
			}
			standing++
			node := &corev1.Node{}
			w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Name: found[i].Spec.NodeName}, node))
			if node.Labels[w.Name+"/zone"] != "a" || node.Labels[w.Name+"/block"] != block {
				t.Errorf("pod %s stands in zone %s, block %s", found[i].Name, node.Labels[w.Name+"/zone"],
					node.Labels[w.Name+"/block"])
			}
		}
		if standing != count {
			t.Errorf("%d pods stand instead of %d\n%s", standing, count, w.Report(ctx))
		}
		return ctx
	}
}

// nodeIsReplaced deletes the node of a worker with its pod, as the garbage collector does, and makes a node like it.
func (w *world) nodeIsReplaced(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		t.Helper()
		found, err := w.podsOf(ctx, name)
		w.Must(ctx, t, err)
		lost := &found[0]
		node := &corev1.Node{}
		w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Name: lost.Spec.NodeName}, node))
		w.Must(ctx, t, cluster.Delete(ctx, node))
		w.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, lost, client.GracePeriodSeconds(0))))
		w.Must(ctx, t, cluster.Create(ctx, w.node(node.Labels[w.Name+"/zone"], node.Labels[w.Name+"/block"],
			node.Labels[w.Name+"/rack"], 3)))
		return ctx
	}
}

package dynamo_test

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
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// repairOf reads from a PodGroup what may be moved for its repair.
const repairOf = `{.metadata.annotations.packtree\.dev/repair-move} {.metadata.annotations.packtree\.dev/repair-after}`

// units scales a component group by its adapter: whole copies come and go, and each stands in one rack.
func units(w *world) *features.FeatureBuilder {
	copies := func(count int) pods {
		return pods{"Frontend": "1 of frontend:1", "Prefill": fmt.Sprintf("%d of vllm:1", 2*count),
			"Decode": fmt.Sprintf("%d of vllm:1", count)}
	}
	var first suite.Memory
	rest := w.podsOfServices("units", "Frontend")
	return features.New("units").
		Setup(w.create).
		Assess("two copies run, each in one rack", suite.AllOf(
			w.Applies("units.yaml"), w.stands("units", copies(2)), w.copiesStandInOneRack, w.Remembers(rest, &first))).
		Assess("what may be moved is handed to the scheduler", suite.AllOf(
			w.Reads("subgroup 90s", "podgroup", "units-0", repairOf), w.Kubectl("patch", "dgd", "units", "--type=merge",
				`--patch={"spec":{"repair":{"move":"none"}}}`),
			w.Reads("none 90s", "podgroup", "units-0", repairOf), w.IsAsIn(&first, rest))).
		Assess("an annotation cannot contradict it",
			w.Refused([]string{"spec.repair.move", `which is "gang": leave one of them out`},
				"patch", "dgd", "units", "--type=merge",
				`--patch={"spec":{"annotations":{"packtree.dev/repair-move":"gang"}}}`)).
		Assess("eight do", suite.AllOf(
			w.Kubectl("scale", "dgdsa", "units-serve", "--replicas=8"), w.TheOperatorDies, w.runs("units", copies(8)),
			w.copiesStandInOneRack)).
		Assess("the adapter counts copies", w.Reads("8", "dgdsa", "units-serve", "{.status.replicas}")).
		Assess("three are left, whole ones", suite.AllOf(
			w.Kubectl("scale", "dgdsa", "units-serve", "--replicas=3"), w.TheOperatorDies, w.runs("units", copies(3)),
			w.copiesStandInOneRack)).
		Assess("the ratio cannot change", w.Refused([]string{"was 2 in each copy of component group \"serve\""},
			"patch", "dgd", "units", "--type=json",
			`--patch=[{"op":"replace","path":"/spec/components/1/replicas","value":3}]`)).
		Assess("nobody else has noticed", w.IsAsIn(&first, rest)).
		Teardown(w.remove)
}

// near is a deployment that must share the block of another one. The other one comes later, stays, and leaves no room
// for a third worker.
func near(w *world) *features.FeatureBuilder {
	workers := func(count int) pods { return pods{"Decode": fmt.Sprintf("%d of vllm:1", count)} }
	return features.New("near").
		Setup(w.create).
		Assess("the deployment waits for the other, and names it",
			suite.AllOf(w.Applies("near.yaml"), w.waits("serving", "router-0"))).
		Assess("when that comes both stand in its block", suite.AllOf(
			w.Applies("router.yaml"), w.runs("router", pods{"Router": "1 of router:1"}),
			w.stands("serving", workers(2)), w.standInBlock("2", 3))).
		Assess("what replaces a worker of a node that is lost stands there too, though another block is free",
			suite.AllOf(
				w.nodeIsReplaced("serving"), w.TheOperatorDies, w.stands("serving", workers(2)), w.standInBlock("2", 3))).
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

// copiesStandInOneRack checks by the labels of the nodes that the pods of each copy are in one rack.
func (w *world) copiesStandInOneRack(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	found, err := w.podsOf(ctx, "units")
	w.Must(ctx, t, err)
	racks := map[string]string{}
	for i := range found {
		index, member := found[i].Labels[grove.LabelPodCliqueScalingGroupReplicaIndex]
		if !member {
			continue
		}
		node := &corev1.Node{}
		w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Name: found[i].Spec.NodeName}, node))
		rack := node.Labels[w.Name+"/block"] + "/" + node.Labels[w.Name+"/rack"]
		if other, known := racks[index]; known && other != rack {
			t.Errorf("copy %s stands in racks %s and %s\n%s", index, other, rack, w.Report(ctx))
		}
		racks[index] = rack
	}
	if len(racks) < 2 {
		t.Errorf("%d copies", len(racks))
	}
	return ctx
}

package dynamo_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// units scales a component group by its adapter: whole copies come and go, and each stands in one rack.
func units(w *world) *features.FeatureBuilder {
	copies := func(count int) pods {
		return pods{"Frontend": "1 of frontend:1", "Prefill": fmt.Sprintf("%d of vllm:1", 2*count), "Decode": fmt.Sprintf("%d of vllm:1", count)}
	}
	var first suite.Memory
	rest := w.podsOfServices("units", "Frontend")
	return features.New("units").
		Setup(w.create).
		Assess("two copies run, each in one rack", suite.AllOf(
			w.Applies("units.yaml"), w.stands("units", copies(2)), w.copiesStandInOneRack, w.Remembers(rest, &first))).
		Assess("eight do", suite.AllOf(
			w.Kubectl("scale", "dgdsa", "units-serve", "--replicas=8"), w.TheOperatorDies, w.runs("units", copies(8)), w.copiesStandInOneRack)).
		Assess("the adapter counts copies", w.Reads("8", "dgdsa", "units-serve", "{.status.replicas}")).
		Assess("three are left, whole ones", suite.AllOf(
			w.Kubectl("scale", "dgdsa", "units-serve", "--replicas=3"), w.TheOperatorDies, w.runs("units", copies(3)), w.copiesStandInOneRack)).
		Assess("the ratio cannot change", w.Refused([]string{"was 2 in each copy of component group \"serve\""},
			"patch", "dgd", "units", "--type=json", `--patch=[{"op":"replace","path":"/spec/components/1/replicas","value":3}]`)).
		Assess("nobody else has noticed", w.IsAsIn(&first, rest)).
		Teardown(w.remove)
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

package life_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const rackKey = "topology.packtree.dev/rack"

func wholeJob(w *world) *features.FeatureBuilder { return whole(w, "job") }

func wholeDeployment(w *world) *features.FeatureBuilder { return whole(w, "deployment") }

// whole creates a workload of four independent pods in a cluster of seven racks with room for one pod and one with room
// for four: all pods end up in that one, though their controller makes them one by one. -count=20 finds what is only
// mostly true.
func whole(w *world, workload string) *features.FeatureBuilder {
	return features.New("whole "+workload).
		Setup(w.sevenTightRacks).
		Assess("all pods stand in the rack that holds all",
			suite.AllOf(w.Applies("deployments/"+workload+".yaml"), w.fourInOneRack)).
		Assess("place finds that rack for the first pod alone", w.placeAgrees).
		Teardown(w.remove)
}

func (w *world) sevenTightRacks(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	var nodes []*corev1.Node
	for rack := range 8 {
		for i := range 1 + 3*(rack/7) {
			nodes = append(nodes, live.FakeNode(fmt.Sprintf("%s-%d-%d", w.Name, rack, i), map[string]string{
				suite.WorldLabel: w.Name, corev1.LabelTopologyZone: w.Name, "topology.packtree.dev/block": "1",
				rackKey: fmt.Sprint(rack),
			}, 1))
		}
	}
	w.Populate(ctx, t, nodes)
	return ctx
}

func (w *world) fourInOneRack(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Until(ctx, t, "all four pods have a node", func(ctx context.Context) (bool, string, error) {
		racks, err := w.racks(ctx)
		bound := 0
		for _, pods := range racks {
			bound += pods
		}
		return bound == 4, fmt.Sprintf("pods by rack: %v", racks), err
	})
	racks, err := w.racks(ctx)
	w.Must(ctx, t, err)
	if racks["7"] != 4 {
		t.Errorf("pods by rack: %v\n%s", racks, w.Report(ctx))
	}
	return ctx
}

// racks counts the pods that have a node by the rack of the node.
func (w *world) racks(ctx context.Context) (map[string]int, error) {
	standing, err := cluster.Standing(ctx, w.Name)
	if err != nil {
		return nil, err
	}
	rackOf := map[string]string{}
	for i := range standing.Nodes {
		rackOf[standing.Nodes[i].Name] = standing.Nodes[i].Labels[rackKey]
	}
	racks := map[string]int{}
	for i := range standing.Pods {
		if node := standing.Pods[i].Spec.NodeName; node != "" {
			racks[rackOf[node]]++
		}
	}
	return racks, nil
}

// placeAgrees runs place on the workload as it was with one pod.
func (w *world) placeAgrees(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	var nodes corev1.NodeList
	w.Must(ctx, t, cluster.List(ctx, &nodes, client.MatchingLabels{suite.WorldLabel: w.Name}))
	var groups scheduling.PodGroupList
	w.Must(ctx, t, cluster.List(ctx, &groups, client.InNamespace(w.Name)))
	pods, err := w.Pods(ctx)
	w.Must(ctx, t, err)
	topology := &kai.Topology{}
	w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Name: "grove-topology"}, topology))
	first := pods[0].DeepCopy()
	first.Spec.NodeName, first.Status = "", corev1.PodStatus{}
	first.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	topology.TypeMeta = metav1.TypeMeta{APIVersion: kai.GroupVersion.String(), Kind: "Topology"}
	group := &groups.Items[0]
	group.TypeMeta = metav1.TypeMeta{APIVersion: scheduling.GroupVersion.String(), Kind: "PodGroup"}
	objects := []any{first, topology, group}
	for i := range nodes.Items {
		nodes.Items[i].TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		objects = append(objects, &nodes.Items[i])
	}
	if rack := w.placed(ctx, t, first.Name, objects); rack != "7" {
		t.Errorf("place puts the first pod into rack %s", rack)
	}
	return ctx
}

// placed returns the rack into which place puts a pod.
func (w *world) placed(ctx context.Context, t *testing.T, pod string, objects []any) string {
	t.Helper()
	var input strings.Builder
	for _, object := range objects {
		written, err := yaml.Marshal(object)
		w.Must(ctx, t, err)
		fmt.Fprintf(&input, "---\n%s", written)
	}
	program := filepath.Join(cluster.Machine.Root(), "bin", "kai-topology-plugin")
	output, err := exec.CommandContext(ctx, program, "place", "-f", w.Store(t, "first.yaml", input.String())).Output()
	w.Must(ctx, t, err)
	var answer struct {
		PodGroups []struct{ Assignments map[string]string }
	}
	w.Must(ctx, t, json.Unmarshal(output, &answer))
	if len(answer.PodGroups) != 1 || answer.PodGroups[0].Assignments[pod] == "" ||
		len(answer.PodGroups[0].Assignments) != 1 {
		t.Fatalf("place says %s", output)
	}
	node := answer.PodGroups[0].Assignments[pod]
	return strings.Split(strings.TrimPrefix(node, w.Name+"-"), "-")[0]
}

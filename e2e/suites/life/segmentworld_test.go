package life_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

const (
	// segmentLabel names the network of a node. Only the checks read it.
	segmentLabel = "suite/segment"

	h100, gb200 = "h100", "gb200"
)

// segmentWorld is what one story has for itself: besides a namespace and nodes, topologies with names that begin with
// its own.
type segmentWorld struct{ suite.World }

func newSegmentWorld(operatorDies bool) *segmentWorld {
	return &segmentWorld{suite.World{Cluster: cluster, Name: envconf.RandomName("topo", 10),
		Operator: suite.GroveOperator, OperatorDies: operatorDies, Shown: "ct,pcs,pg"}}
}

// rack is some nodes of one network in one rack.
type rack struct {
	segment, zone, block, name string
	nodes, gpus                int
}

// racks are those of every world: GB200 racks of 6 GPUs in blocks, and H100 racks of 8 that have no blocks. Names
// repeat, as they do in real data centres.
var racks = []rack{
	{gb200, "a", "1", "1", 3, 2},
	{gb200, "a", "1", "2", 3, 2},
	{gb200, "a", "2", "1", 3, 2},
	{gb200, "b", "1", "1", 3, 2},
	{h100, "a", "", "1", 2, 4},
	{h100, "a", "", "2", 2, 4},
	{h100, "b", "", "1", 2, 4},
}

func (w *segmentWorld) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	var nodes []*corev1.Node
	for _, rack := range racks {
		for i := range rack.nodes {
			nodes = append(nodes, w.node(rack, i))
		}
	}
	w.Populate(ctx, t, nodes)
	return ctx
}

// node has the labels of its own network, which no other world uses, and those of the default topology. Both networks
// use the same label for zones.
func (w *segmentWorld) node(r rack, i int) *corev1.Node {
	name := fmt.Sprintf("%s-%s-%s%s%s-%d", w.Name, r.segment, r.zone, r.block, r.name, i)
	marks := map[string]string{
		suite.WorldLabel: w.Name, segmentLabel: r.segment, w.Name + "/zone": r.zone, r.segment + "." + w.Name +
			"/rack": r.name,
		corev1.LabelTopologyZone: w.Name + "-" + r.zone, "topology.packtree.dev/rack": r.segment + "-" + r.name,
	}
	if r.block != "" {
		marks[r.segment+"."+w.Name+"/block"], marks["topology.packtree.dev/block"] = r.block, r.block
	}
	return live.FakeNode(name, marks, r.gpus)
}

func (w *segmentWorld) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Leave(ctx, t, &grove.PodCliqueSet{}, &grove.ClusterTopology{})
	return ctx
}

// gangs are the PodGangs of a set; an error if there is none.
func (w *segmentWorld) gangs(ctx context.Context, set string) ([]scheduler.PodGang, error) {
	var gangs scheduler.PodGangList
	err := cluster.List(ctx, &gangs, client.InNamespace(w.Name), client.MatchingLabels{grove.LabelPartOf: set})
	if err == nil && len(gangs.Items) == 0 {
		err = errors.New("no PodGang of " + set)
	}
	return gangs.Items, err
}

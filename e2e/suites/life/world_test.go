package life_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// world is what one story has for itself: besides a namespace and nodes, a ClusterTopology of its name. Only its
// nodes have the labels of this topology, and claims of the class of its name are bound to them.
type world struct{ suite.World }

func newWorld(operatorDies bool) *world {
	return &world{suite.World{
		Cluster: cluster, Name: envconf.RandomName("dynamo", 12), Operator: dynamoOperator, OperatorDies: operatorDies,
		Shown: "dgd,pcs,pclq,pcsg,pg,podgroups.scheduling.run.ai",
	}}
}

const gpusOfNode = 4

// create makes two zones: a with two racks of three nodes in a block and one in another, and b with a single
// node, which holds no deployment that has GPUs.
func (w *world) create(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	t.Helper()
	var nodes []*corev1.Node
	for _, rack := range []struct {
		zone, block, rack string
		nodes             int
	}{{"a", "1", "1", 3}, {"a", "1", "2", 3}, {"a", "2", "1", 3}, {"b", "1", "1", 1}} {
		for i := range rack.nodes {
			nodes = append(nodes, w.node(rack.zone, rack.block, rack.rack, i))
		}
	}
	w.Populate(ctx, t, nodes)
	return w.Applies("deployments/world.yaml")(ctx, t, config)
}

// node has the labels of the world's topology, and of the default one.
func (w *world) node(zone, block, rack string, i int) *corev1.Node {
	return live.FakeNode(fmt.Sprintf("%s-%s%s%s-%d", w.Name, zone, block, rack, i), map[string]string{
		suite.WorldLabel: w.Name,
		w.Name + "/zone": zone, w.Name + "/block": block, w.Name + "/rack": rack,
		corev1.LabelTopologyZone: w.Name + "-" + zone, "topology.packtree.dev/block": block,
		"topology.packtree.dev/rack": rack,
	}, gpusOfNode)
}

func (w *world) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Leave(ctx, t, &dynamo.DynamoGraphDeployment{}, &grove.ClusterTopology{}, &corev1.PersistentVolume{})
	return ctx
}

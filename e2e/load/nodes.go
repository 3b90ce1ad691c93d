package load

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

const (
	gpusPerNode   = 8
	nodesPerRack  = 16
	racksPerBlock = 16
	zones         = 2

	topologyName = "load"
	zoneLabel    = corev1.LabelTopologyZone
	blockLabel   = "topology.packtree.dev/block"
	rackLabel    = "topology.packtree.dev/rack"

	gpu corev1.ResourceName = "nvidia.com/gpu"
)

// topology has the levels of the nodes' labels.
func topology() *kai.Topology {
	return &kai.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: topologyName},
		Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{
			{NodeLabel: zoneLabel}, {NodeLabel: blockLabel}, {NodeLabel: rackLabel}, {NodeLabel: corev1.LabelHostname},
		}},
	}
}

// nodes are count nodes in two zones: 16 to a rack, 16 racks to a block.
func nodes(count int) []*corev1.Node {
	made := make([]*corev1.Node, count)
	perZone := (count + zones - 1) / zones
	for i := range made {
		inZone := i % perZone
		rack := inZone / nodesPerRack
		made[i] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("node-%05d", i),
				Labels: map[string]string{
					zoneLabel:  fmt.Sprintf("zone-%d", i/perZone),
					blockLabel: fmt.Sprintf("block-%d", rack/racksPerBlock),
					rackLabel:  fmt.Sprintf("rack-%d", rack%racksPerBlock),
				},
			},
			Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("128"), corev1.ResourceMemory: resource.MustParse("1Ti"),
				corev1.ResourcePods: resource.MustParse("110"), gpu: *resource.NewQuantity(gpusPerNode, resource.DecimalSI),
			}},
		}
	}
	return made
}

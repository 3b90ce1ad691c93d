package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/e2e/live"
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

// nodes are count nodes in two zones: 16 to a rack, 16 racks to a block. A name of a rack or a block is of one only, as
// kube-scheduler needs it.
func nodes(count int) []*corev1.Node {
	made := make([]*corev1.Node, count)
	perZone := (count + zones - 1) / zones
	for i := range made {
		zone, rack := i/perZone, i%perZone/nodesPerRack
		made[i] = live.FakeNode(nodeName(i), map[string]string{
			zoneLabel:  fmt.Sprintf("zone-%d", zone),
			blockLabel: fmt.Sprintf("block-%d-%d", zone, rack/racksPerBlock),
			rackLabel:  fmt.Sprintf("rack-%d-%d", zone, rack),
		}, gpusPerNode)
	}
	return made
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

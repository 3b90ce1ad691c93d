// Package translation puts gangs and nodes into the words of the packing engine. It decides nothing.
package translation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/eligibility"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/packing"
)

// LevelsOf returns the levels of a Topology, broadest first.
func LevelsOf(topology *kai.Topology) []string {
	levels := make([]string, len(topology.Spec.Levels))
	for i, level := range topology.Spec.Levels {
		levels[i] = level.NodeLabel
	}
	return levels
}

// Reserved are pods, by the name of a node, that will stand on it although the node does not show them yet.
type Reserved map[string][]*corev1.Pod

// Cluster returns the nodes, what is used on them, and the topologies that the gang names, all of which exist.
func Cluster(g *gang.Gang, topologies map[string]*kai.Topology, nodes []fwk.NodeInfo, reserved Reserved) (*packing.Cluster, error) {
	cluster := packing.NewCluster()
	for _, group := range g.Tree.Groups() {
		name := group.Constraint.Topology
		if name == "" {
			continue
		}
		if err := cluster.SetTopology(name, LevelsOf(topologies[name])); err != nil {
			return nil, fmt.Errorf("reading Topology %s: %w", name, err)
		}
	}
	ports := eligibility.HostPorts(g.Pending)
	for _, node := range nodes {
		name, offered := node.Node().Name, kubeframework.Allocatable(node)
		for port := range ports {
			offered[port] = 1
		}
		cluster.SetNode(packing.Node{Name: name, Labels: node.Node().Labels, Allocatable: offered})
		cluster.Assign(packing.Pod{ID: "on " + name, Node: name, Requests: kubeframework.Used(node)})
		for _, pod := range reserved[name] {
			requests, err := eligibility.Requests(pod)
			if err != nil {
				return nil, err
			}
			cluster.Assign(packing.Pod{ID: "reserved " + string(pod.UID), Node: name, Requests: requests})
		}
	}
	return cluster, nil
}

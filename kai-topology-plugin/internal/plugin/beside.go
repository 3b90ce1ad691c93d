package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/ganglister"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/inventory"
)

// beside is what those have in common that work beside the scheduling loop, on a copy of the cluster.
type beside struct {
	lister   *ganglister.Lister
	gangs    *gangstate.State
	effects  *executor
	clock    clock.PassiveClock
	profiles *profiles
	// name is that of the own profile, and reader has its arguments.
	name   string
	reader *reader
}

// speaksFor reports whether it is for this profile to report on a gang.
func (b *beside) speaksFor(key gang.Key) bool {
	pods, err := b.lister.Shown(key)
	return err == nil && b.profiles.speaksFor(b.name, pods)
}

// shown is the cluster as the API server shows it. Nothing in it may be changed.
func (b *beside) shown() (*inventory.Inventory, error) {
	cluster := inventory.New()
	cluster.Placement = b.reader.placement
	var err error
	if cluster.Nodes, err = b.lister.Nodes.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("reading nodes: %w", err)
	}
	if cluster.Pods, err = b.lister.Pods.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("reading pods: %w", err)
	}
	if cluster.PodGroups, err = b.lister.PodGroups.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("reading PodGroups: %w", err)
	}
	topologies, err := b.lister.Topologies.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("reading Topologies: %w", err)
	}
	for _, topology := range topologies {
		cluster.Topologies[topology.Name] = topology
	}
	return cluster, nil
}

// shownAndAssumed is the cluster as the API server shows it, with the pods of gangs that the scheduler has put on a
// node already.
func (b *beside) shownAndAssumed() (*inventory.Inventory, error) {
	cluster, err := b.shown()
	if err != nil {
		return nil, err
	}
	assumed := map[types.UID]*corev1.Pod{}
	for _, podGroup := range cluster.PodGroups {
		for _, pod := range b.lister.Assumed(gang.KeyOfPodGroup(podGroup)) {
			assumed[pod.UID] = pod
		}
	}
	for i, pod := range cluster.Pods {
		if placed := assumed[pod.UID]; placed != nil && pod.Spec.NodeName == "" {
			cluster.Pods[i] = placed
		}
	}
	return cluster, nil
}

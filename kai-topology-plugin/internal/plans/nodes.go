package plans

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Nodes returns the nodes to which a gang's plan sends pods and those on which pods have been put, sorted and each once. The
// API server shows none of it yet, but who goes where the gang is has to go there already.
func (b *Book) Nodes(key gang.Key) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	known := b.gangs[key]
	if known == nil {
		return nil
	}
	var nodes []string
	for _, assumed := range known.assumed {
		nodes = append(nodes, assumed.pod.Spec.NodeName)
	}
	for _, held := range known.seats {
		nodes = append(nodes, held.placement.Node)
	}
	if known.plan != nil {
		for _, placement := range known.plan.awaited {
			nodes = append(nodes, placement.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// Planned returns the node of each pod that a gang's plan sends there, or that has been put on it.
func (b *Book) Planned(key gang.Key) map[types.UID]string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	nodes := map[types.UID]string{}
	known := b.gangs[key]
	if known == nil {
		return nodes
	}
	for pod, held := range known.seats {
		nodes[pod] = held.placement.Node
	}
	if known.plan != nil {
		for pod, placement := range known.plan.awaited {
			nodes[pod] = placement.Node
		}
	}
	for pod, assumed := range known.assumed {
		nodes[pod] = assumed.pod.Spec.NodeName
	}
	return nodes
}

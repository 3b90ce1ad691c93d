package plans

import (
	"slices"

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

package simulate

import (
	"context"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
)

// Watch simulates a stream, and has each moment looked at: the nodes that are not down, and where the pods are.
func Watch(
	ctx context.Context, cluster *inventory.Inventory, stream []Event, until float64,
	look func(at float64, seen *inventory.Inventory),
) (*Result, error) {
	s, err := newSimulator(ctx, cluster, Options{Until: &until})
	if err != nil {
		return nil, err
	}
	s.options.Progress = func(at float64, _, _ int) { look(at, s.seen()) }
	if err := s.run(ctx, stream); err != nil {
		return nil, err
	}
	return s.result(ctx)
}

func (s *simulator) seen() *inventory.Inventory {
	seen := inventory.New()
	for name, node := range s.nodes {
		if !s.down.Has(name) {
			seen.Nodes = append(seen.Nodes, node)
			seen.Pods = append(seen.Pods, s.settled[name]...)
		}
	}
	for _, r := range s.by {
		seen.PodGroups = append(seen.PodGroups, r.podGroup)
		seen.Pods = slices.Concat(seen.Pods, r.standing, r.pending)
	}
	return seen
}

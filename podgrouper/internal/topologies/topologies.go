// Package topologies says which Topologies exist and what levels they have.
package topologies

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/podgrouptree"
)

// In returns the levels of the Topologies that the reader has now.
func In(ctx context.Context, reader client.Reader) (podgrouptree.Levels, error) {
	var list kai.TopologyList
	if err := reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing Topologies: %w", err)
	}
	return Of(list.Items), nil
}

// Of returns the levels of the given Topologies, as if there were no others.
func Of(all []kai.Topology) podgrouptree.Levels {
	levels := make(map[string]podgrouptree.Hierarchy, len(all))
	for i := range all {
		levels[all[i].Name] = podgrouptree.HierarchyOf(&all[i])
	}
	return func(topology string) (podgrouptree.Hierarchy, bool) {
		known, exists := levels[topology]
		return known, exists
	}
}

package turns

import (
	"context"
	"sync"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// Copy is a copy of a cluster for repeated questions: each time it takes over what has changed, and nothing else. It
// may be used from any goroutine.
type Copy struct {
	// mu is held during a decision on the copy.
	mu        sync.Mutex
	following *kubeframework.Following
	view      *clusterview.View
}

// On runs a function on a table that has everything in the cluster on it. Filters run until ctx, which is the
// program's, is done. The function may decide, also under changes, but must not let pods take nodes. The copy has no
// other user meanwhile.
func (c *Copy) On(ctx context.Context, cluster *inventory.Inventory, run func(*Table) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	table, err := c.follow(ctx, cluster)
	if err != nil {
		c.following = nil // Half of the changes are in it. It is made anew when it is needed.
		return err
	}
	return run(table)
}

func (c *Copy) follow(ctx context.Context, cluster *inventory.Inventory) (_ *Table, err error) {
	if c.following == nil {
		if c.following, err = kubeframework.NewFollowing(ctx); err != nil {
			return nil, err
		}
		c.view = clusterview.New(c.following)
	}
	if err := c.following.Follow(cluster.Nodes, inventory.Standing(cluster.Pods)); err != nil {
		return nil, err
	}
	return tableOf(cluster, c.following.Offline, c.view)
}

package turns

import (
	"context"
	"sync"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// Copy is a copy of a cluster for those who ask again and again: each time it takes over what has changed, and nothing
// else. It may be used from any goroutine.
type Copy struct {
	// mu is held as long as somebody decides on it.
	mu        sync.Mutex
	following *kubeframework.Following
	view      *clusterview.View
	// table is the last one that was set; nil if there is none.
	table *Table
}

// On runs a function on a table with everything on it that stands in the cluster. Filters run until ctx is done,
// which is that of the program. The function may decide, also under changes, but not have pods take nodes. Nobody
// else has the copy meanwhile.
func (c *Copy) On(ctx context.Context, cluster *inventory.Inventory, run func(*Table) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.follow(ctx, cluster); err != nil {
		c.following, c.table = nil, nil // Half of the changes are in it. It is made anew when it is needed.
		return err
	}
	return run(c.table)
}

// Again runs a function on the table that was set last, whoever asked for it. There has been one.
func (c *Copy) Again(run func(*Table) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return run(c.table)
}

func (c *Copy) follow(ctx context.Context, cluster *inventory.Inventory) (err error) {
	if c.following == nil {
		if c.following, err = kubeframework.NewFollowing(ctx); err != nil {
			return err
		}
		c.view = clusterview.New(c.following)
	}
	if err := c.following.Follow(cluster.Nodes, inventory.Standing(cluster.Pods)); err != nil {
		return err
	}
	c.table, err = tableOf(cluster, c.following.Offline, c.view)
	return err
}

package devcluster

import (
	"context"
	"errors"
	"fmt"
)

// Upgrade is helm upgrade of the charts with other values of components, which override the values that make them run
// here. Then each component is stopped and started by its new Deployment, as in a rollout.
func (c *Cluster) Upgrade(ctx context.Context, values map[string]map[string]any) error {
	return c.releases(ctx, func(ctx context.Context) error {
		c.plane.Values = values
		if err := c.plane.helm(ctx, "upgrade"); err != nil {
			return err
		}
		if err := c.endComponents(ctx); err != nil {
			return err
		}
		return c.plane.runComponents(ctx)
	})
}

// Uninstall ends the components and is helm uninstall of the charts. The serving certificates stay, as if a user kept
// them by hand.
func (c *Cluster) Uninstall(ctx context.Context) error {
	return c.releases(ctx, func(ctx context.Context) error {
		if err := c.endComponents(ctx); err != nil {
			return err
		}
		return c.plane.runHelm(ctx, c.plane.layout.HelmUninstallArgs(namespace))
	})
}

// Install installs the charts again after Uninstall, with values of components, and runs them.
func (c *Cluster) Install(ctx context.Context, values map[string]map[string]any) error {
	return c.releases(ctx, func(ctx context.Context) error {
		c.plane.Values = values
		if err := c.plane.helm(ctx, "install"); err != nil {
			return err
		}
		return c.plane.runComponents(ctx)
	})
}

// releases holds the directory's lock, so that Down cannot miss a process, and bounds the time of the change.
func (c *Cluster) releases(ctx context.Context, change func(context.Context) error) error {
	if len(c.plane.Components) == 0 {
		return errors.New("the cluster has no components")
	}
	dir, err := c.claimAgain(ctx)
	if err != nil {
		return err
	}
	defer dir.Release()
	c.plane.dir = dir
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return change(ctx)
}

// endComponents asks every component to end, waits until all have, and forgets them.
func (c *Cluster) endComponents(ctx context.Context) error {
	for _, name := range c.plane.Components {
		if err := c.Stop(ctx, name); err != nil {
			return fmt.Errorf("ending the components: %w", err)
		}
	}
	c.plane.forget(c.plane.Components...)
	return c.plane.dir.Save(c.plane.state)
}

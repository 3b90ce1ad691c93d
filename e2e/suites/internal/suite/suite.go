// Package suite is the common part of suites that have a dev cluster for themselves and run stories on it: each story
// has a world of its own, kubectl is its user, and an operator may die in the middle of it.
package suite

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

// patience bounds each wait, on a busy machine.
const patience = 4 * time.Minute

// GroveOperator is the component that some stories restart with other topology levels.
const GroveOperator = "grove-operator"

// Cluster is a dev cluster that a suite has for itself.
type Cluster struct {
	// Options are those of the dev cluster.
	Options devcluster.Options
	// Elects leaves leader election on, as in users' clusters.
	Elects bool
	// Prepare, if set, is called when the cluster is up, before the first story.
	Prepare func(context.Context) error
	// Afterwards, if set, is called when the cluster is down.
	Afterwards func() error

	// Own is the cluster once it is up.
	*live.Own

	env env.Environment
	// alive is held by a story that has stopped a program, until it runs again.
	alive sync.Mutex
}

// Main brings the cluster up, runs all tests, takes it down, and ends the process.
func (c *Cluster) Main(m *testing.M) {
	// Stories mostly wait, so that two run at once for each of two processors.
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	c.env = env.NewWithConfig(envconf.New())
	c.env.Setup(c.up)
	c.env.Finish(c.down)
	os.Exit(c.env.Run(m))
}

// Test runs a story.
func (c *Cluster) Test(t *testing.T, story *features.FeatureBuilder) {
	t.Helper()
	c.env.Test(t, story.Feature())
}

func (c *Cluster) up(ctx context.Context, config *envconf.Config) (context.Context, error) {
	// A restarted program need not wait until the lease of the killed one expires, and no leases are renewed.
	if !c.Elects {
		values := map[string]map[string]any{}
		for _, component := range devcluster.Components {
			values[component] = map[string]any{"leaderElection": map[string]any{"enabled": false}}
			maps.Copy(values[component], c.Options.Values[component])
		}
		c.Options.Values = values
	}
	var err error
	if c.Own, err = live.BringUpForTests(ctx, c.Options); err != nil {
		return ctx, err
	}
	config.WithKubeconfigFile(c.Machine.Kubeconfig)
	if c.Prepare != nil {
		if err := c.Prepare(ctx); err != nil {
			return ctx, err
		}
	}
	return c.While(ctx), nil
}

func (c *Cluster) down(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	var down, after error
	if c.Own != nil {
		down = c.TakeDown(context.WithoutCancel(ctx))
	}
	if c.Afterwards != nil {
		after = c.Afterwards()
	}
	return ctx, errors.Join(down, after)
}

// AllOf runs steps one after the other.
func AllOf(steps ...types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		for _, step := range steps {
			ctx = step(ctx, t, config)
		}
		return ctx
	}
}

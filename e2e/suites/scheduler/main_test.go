// Package scheduler_test has the scheduler go through what happens to it in a cluster: gangs that compete, nodes that go away, bindings
// that fail, its own death.
//
// It runs on a dev cluster of its own, since it kills the scheduler. PACKTREE_SCHEDULER names another binary of it, for example
// one built with -race.
package scheduler_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

const (
	schedulerProgram = "kai-topology-plugin"
	// patience is how long anything may take, on a machine that does other things too.
	patience = 2 * time.Minute
)

var (
	testenv    env.Environment
	cluster    *live.Own
	components = []string{"grove-operator", "podgrouper", schedulerProgram}
)

func TestMain(m *testing.M) {
	testenv = env.NewWithConfig(envconf.New())
	testenv.Setup(up)
	testenv.Finish(down)
	os.Exit(testenv.Run(m))
}

func up(ctx context.Context, config *envconf.Config) (context.Context, error) {
	options := devcluster.Options{Components: components, NodesFile: filepath.Join("testdata", "nodes.yaml")}
	if program := os.Getenv("PACKTREE_SCHEDULER"); program != "" {
		options.Programs = map[string]string{schedulerProgram: program}
	}
	var err error
	if cluster, err = live.BringUp(ctx, options); err != nil {
		return ctx, err
	}
	config.WithKubeconfigFile(cluster.Machine.Kubeconfig)
	return ctx, nil
}

func down(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	if cluster == nil {
		return ctx, nil
	}
	return ctx, cluster.TakeDown(ctx)
}

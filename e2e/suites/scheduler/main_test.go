// Package scheduler_test has the scheduler go through what happens to it in a cluster: gangs that compete, nodes that go away, bindings
// that fail, its own death.
//
// It runs on a dev cluster of its own, since it kills the scheduler. PACKTREE_SCHEDULER names another binary of it, for example
// one built with -race.
package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
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
	machine    *devcluster.Cluster
	cluster    *live.Cluster
	components = []string{"grove-operator", "podgrouper", schedulerProgram}
)

func TestMain(m *testing.M) {
	testenv = env.NewWithConfig(envconf.New())
	testenv.Setup(up)
	testenv.Finish(down)
	os.Exit(testenv.Run(m))
}

func up(ctx context.Context, config *envconf.Config) (context.Context, error) {
	directory, err := os.MkdirTemp("", "packtree-scheduler-")
	if err != nil {
		return ctx, err
	}
	options := devcluster.Options{
		Dir: filepath.Join(directory, "cluster"), Components: components, Progress: os.Stderr, NodesFile: filepath.Join("testdata", "nodes.yaml"),
	}
	if program := os.Getenv("PACKTREE_SCHEDULER"); program != "" {
		options.Programs = map[string]string{schedulerProgram: program}
	}
	if machine, err = devcluster.Up(ctx, options); err != nil {
		return ctx, err
	}
	config.WithKubeconfigFile(machine.Kubeconfig)
	rest, err := clientcmd.BuildConfigFromFlags("", machine.Kubeconfig)
	if err != nil {
		return ctx, fmt.Errorf("reading %s: %w", machine.Kubeconfig, err)
	}
	if cluster, err = live.Connect(rest); err != nil {
		return ctx, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return ctx, live.Wait(waiting, "grove-operator has made the topology of its configuration", cluster.DefaultTopologyMade)
}

func down(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	if machine == nil {
		return ctx, nil
	}
	if _, err := devcluster.Down(ctx, machine.Dir); err != nil {
		return ctx, err
	}
	return ctx, os.RemoveAll(filepath.Dir(machine.Dir))
}

// Package grove_test has PodCliqueSets live through what happens to them in a cluster. It runs on a dev cluster of its own.
package grove_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

// patience is how long anything may take, on a machine that does other things too.
const patience = 2 * time.Minute

var (
	testenv env.Environment
	machine *devcluster.Cluster
	server  *rest.Config
	cluster *live.Cluster

	components = []string{"grove-operator", "podgrouper", "kai-topology-plugin"}
)

func TestMain(m *testing.M) {
	testenv = env.NewWithConfig(envconf.New())
	testenv.Setup(up)
	testenv.Finish(down)
	os.Exit(testenv.Run(m))
}

func up(ctx context.Context, config *envconf.Config) (context.Context, error) {
	directory, err := os.MkdirTemp("", "packtree-grove-")
	if err != nil {
		return ctx, err
	}
	machine, err = devcluster.Up(ctx, devcluster.Options{
		Dir: filepath.Join(directory, "cluster"), Progress: os.Stderr, NodesFile: filepath.Join("testdata", "nodes.yaml"),
		Components: components,
	})
	if err != nil {
		return ctx, err
	}
	config.WithKubeconfigFile(machine.Kubeconfig)
	if server, err = clientcmd.BuildConfigFromFlags("", machine.Kubeconfig); err != nil {
		return ctx, fmt.Errorf("reading %s: %w", machine.Kubeconfig, err)
	}
	if cluster, err = live.Connect(server); err != nil {
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

// Package topologies_test has PodCliqueSets and ClusterTopologies change together. It runs on a dev cluster of its own.
package topologies_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

// patience is how long anything may take, on a machine that does other things too.
const patience = 4 * time.Minute

var (
	testenv env.Environment
	cluster *live.Own
)

func TestMain(m *testing.M) {
	// Scenarios wait most of the time, so that many run at once, however few processors there are.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	testenv = env.NewWithConfig(envconf.New())
	testenv.Setup(up)
	testenv.Finish(down)
	os.Exit(testenv.Run(m))
}

func up(ctx context.Context, config *envconf.Config) (context.Context, error) {
	var err error
	cluster, err = live.BringUp(ctx, devcluster.Options{
		NodesFile: filepath.Join("testdata", "nodes.yaml"), Components: []string{operator, "podgrouper", "kai-topology-plugin"},
		// An operator that is started again need not wait until the lease of the one that was killed runs out.
		Values: map[string]map[string]any{operator: {"leaderElection": map[string]any{"enabled": false}}},
	})
	if err != nil {
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

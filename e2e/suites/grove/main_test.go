// Package grove_test has PodCliqueSets live through what happens to them in a cluster. It runs on a dev cluster of its own.
package grove_test

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

const (
	// patience is how long anything may take, on a machine that does other things too.
	patience = 4 * time.Minute
	// heartbeat is how long a node is believed to live without a sign of life, short so that nobody waits for long when one is cut off.
	heartbeat = 10 * time.Second

	operator = "grove-operator"
)

var (
	testenv env.Environment
	cluster *live.Own

	components = []string{operator, "podgrouper", "kai-topology-plugin"}
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
		NodesFile: filepath.Join("testdata", "nodes.yaml"), Components: components, Heartbeat: heartbeat,
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

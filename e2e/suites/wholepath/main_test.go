// Package wholepath_test applies the examples, and bad input, to a cluster in which all of Packtree runs, and at last
// upgrades, uninstalls and installs its release again, with workloads that must not notice.
//
// It brings up a dev cluster by itself, whose programs run by the charts' Deployments. With KUBECONFIG it uses that
// cluster instead, which has to have Packtree and the nodes of docs/examples/nodes.yaml, and leaves its release alone.
package wholepath_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
)

var (
	cluster *live.Cluster
	// dev is the dev cluster of the suite; nil on another cluster, which has given.
	dev   *suite.Cluster
	given env.Environment
)

func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv("KUBECONFIG"); kubeconfig != "" {
		given = env.NewWithConfig(envconf.NewWithKubeConfig(kubeconfig))
		given.Setup(func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
			return ctx, connect(ctx, kubeconfig)
		})
		os.Exit(given.Run(m))
	}
	dev = &suite.Cluster{Options: devcluster.Options{Values: before}, Elects: true,
		Prepare: func(ctx context.Context) error { return connect(ctx, dev.Machine.Kubeconfig) }}
	dev.Main(m)
}

func connect(ctx context.Context, kubeconfig string) error {
	rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	if cluster, err = live.Connect(rest); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return live.Wait(waiting, "grove-operator has made the topology of its configuration",
		cluster.DefaultTopologyMade)
}

// test runs a feature on the suite's cluster.
func test(t *testing.T, feature *features.FeatureBuilder) {
	t.Helper()
	if dev != nil {
		dev.Test(t, feature)
		return
	}
	given.Test(t, feature.Feature())
}

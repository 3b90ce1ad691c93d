// Package wholepath_test applies the examples, and bad input, to a cluster in which all of Packtree runs.
//
// It brings up the dev cluster by itself. With KUBECONFIG it uses that cluster instead, which has to have Packtree and
// the nodes of docs/examples/nodes.yaml.
package wholepath_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/live"
)

var (
	testenv env.Environment
	cluster *live.Cluster
	chosen  = chooseTarget()
)

func TestMain(m *testing.M) {
	testenv = env.NewWithConfig(envconf.New())
	testenv.Setup(chosen.up, connect)
	testenv.Finish(chosen.down)
	os.Exit(testenv.Run(m))
}

func connect(ctx context.Context, config *envconf.Config) (context.Context, error) {
	rest, err := clientcmd.BuildConfigFromFlags("", config.KubeconfigFile())
	if err != nil {
		return ctx, fmt.Errorf("reading %s: %w", config.KubeconfigFile(), err)
	}
	if cluster, err = live.Connect(rest); err != nil {
		return ctx, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return ctx, live.Wait(waiting, "grove-operator has made the topology of its configuration",
		cluster.DefaultTopologyMade)
}

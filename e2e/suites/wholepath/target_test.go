package wholepath_test

import (
	"context"
	"os"
	"path/filepath"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/devcluster"
)

// target is the cluster that the suite runs on. Up writes its kubeconfig into the environment's configuration.
type target struct {
	up, down env.Func
}

func chooseTarget() target {
	switch {
	case os.Getenv("E2E_CLUSTER") == "kind":
		return onKind()
	case os.Getenv("KUBECONFIG") != "":
		return target{up: useKubeconfig, down: leave}
	default:
		return onDevCluster()
	}
}

func useKubeconfig(ctx context.Context, config *envconf.Config) (context.Context, error) {
	config.WithKubeconfigFile(os.Getenv("KUBECONFIG"))
	return ctx, nil
}

func leave(ctx context.Context, _ *envconf.Config) (context.Context, error) { return ctx, nil }

// onDevCluster brings up a dev cluster in a directory of its own, beside one that the developer may have.
func onDevCluster() target {
	var up *devcluster.Cluster
	var directory string
	return target{
		up: func(ctx context.Context, config *envconf.Config) (context.Context, error) {
			var err error
			if directory, err = os.MkdirTemp("", "packtree-e2e-"); err != nil {
				return ctx, err
			}
			up, err = devcluster.Up(ctx, devcluster.Options{Dir: filepath.Join(directory, "cluster"), Progress: os.Stderr})
			if err != nil {
				return ctx, err
			}
			config.WithKubeconfigFile(up.Kubeconfig)
			return ctx, nil
		},
		down: func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
			if up != nil {
				if _, err := devcluster.Down(ctx, up.Dir); err != nil {
					return ctx, err
				}
			}
			return ctx, os.RemoveAll(directory)
		},
	}
}

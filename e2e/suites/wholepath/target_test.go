package wholepath_test

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

// target is the cluster that the suite runs on. Up writes its kubeconfig into the environment's configuration.
type target struct {
	up, down env.Func
	// isDevCluster is set for a dev cluster of the suite's own.
	isDevCluster bool
}

func chooseTarget() target {
	switch {
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

func onDevCluster() target {
	var own *live.Own
	return target{
		isDevCluster: true,
		up: func(ctx context.Context, config *envconf.Config) (context.Context, error) {
			var err error
			if own, err = live.BringUpForTests(ctx, devcluster.Options{}); err != nil {
				return ctx, err
			}
			config.WithKubeconfigFile(own.Machine.Kubeconfig)
			return own.While(ctx), nil
		},
		down: func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
			if own == nil {
				return ctx, nil
			}
			return ctx, own.TakeDown(context.WithoutCancel(ctx))
		},
	}
}

// TestNoNamespaceIsLeft runs last, because it is the last test of the last file.
func TestNoNamespaceIsLeft(t *testing.T) {
	var namespaces corev1.NamespaceList
	if err := cluster.List(t.Context(), &namespaces, client.MatchingLabels(ofSuite)); err != nil {
		t.Fatal(err)
	}
	for i := range namespaces.Items {
		if namespace := &namespaces.Items[i]; namespace.DeletionTimestamp == nil {
			t.Errorf("namespace %s is left", namespace.Name)
		}
	}
}

package wholepath_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/envfuncs"
	"sigs.k8s.io/e2e-framework/support/kind"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
)

const kindCluster = "packtree-e2e"

// onKind makes a cluster with Docker and kind. It needs the network, for KWOK's chart, and the images that make images left in
// dist/images.
func onKind() target {
	create := envfuncs.CreateCluster(kind.NewProvider(), kindCluster)
	return target{
		up: func(ctx context.Context, config *envconf.Config) (context.Context, error) {
			ctx, err := create(ctx, config)
			if err != nil {
				return ctx, err
			}
			return ctx, furnish(ctx, config)
		},
		down: envfuncs.DestroyCluster(kindCluster),
	}
}

// furnish installs what a dev cluster has of its own: KWOK, the nodes, and Packtree.
func furnish(ctx context.Context, config *envconf.Config) error {
	directory, err := examples.Directory()
	if err != nil {
		return err
	}
	root := filepath.Join(directory, "..", "..")
	for _, component := range devcluster.Components {
		image := filepath.Join(root, "dist", "images", component+".tar")
		if _, err := envfuncs.LoadImageArchiveToCluster(kindCluster, image)(ctx, config); err != nil {
			return fmt.Errorf("loading the image of %s, which make images leaves in %s: %w", component, image, err)
		}
	}
	kwok := []string{"--repo", "https://kwok.sigs.k8s.io/charts/", "--namespace", "kube-system", "--wait"}
	for _, install := range [][]string{
		append([]string{"install", "kwok", "kwok"}, kwok...),
		append([]string{"install", "kwok-stages", "stage-fast"}, kwok...),
		{"install", "packtree", filepath.Join(root, "charts", "packtree"), "--namespace", "packtree-system", "--create-namespace", "--wait"},
	} {
		helm := exec.CommandContext(ctx, filepath.Join(root, "bin", "tools", "helm"), install...)
		helm.Env = append(os.Environ(), "KUBECONFIG="+config.KubeconfigFile())
		if out, err := helm.CombinedOutput(); err != nil {
			return fmt.Errorf("helm %s: %w\n%s", slices.Concat(install[:2]), err, out)
		}
	}
	return createNodes(ctx, config, filepath.Join(directory, examples.Nodes))
}

func createNodes(ctx context.Context, config *envconf.Config, file string) error {
	rest, err := clientcmd.BuildConfigFromFlags("", config.KubeconfigFile())
	if err != nil {
		return err
	}
	connected, err := live.Connect(rest)
	if err != nil {
		return err
	}
	objects, err := examples.Objects(file, "")
	if err != nil {
		return err
	}
	for _, object := range objects {
		var node corev1.Node
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &node); err != nil {
			return err
		}
		node.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
		if err := connected.Create(ctx, &node); err != nil {
			return fmt.Errorf("creating node %s: %w", node.Name, err)
		}
	}
	return nil
}

// Package kind_test runs the programs from their images, under real kubelets: a dev cluster, with simulated nodes,
// cannot test that.
//
// `make e2e-kind` makes what it needs: a Docker, an image of a node, archives of the images in dist/kind. Its
// features go from the installation to the removal on one cluster of kind, some of them in parallel.
package kind_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/examples"
)

const clusterName = "packtree-e2e"

var (
	testenv    env.Environment
	root       string
	kubeconfig string
)

func TestMain(m *testing.M) {
	directory, err := examples.Directory()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	root = filepath.Join(directory, "..", "..")
	image := os.Getenv("E2E_KIND_IMAGE")
	if image == "" {
		fmt.Fprintln(os.Stderr,
			"E2E_KIND_IMAGE names no image of a node; `make e2e-kind` makes one, and all else that this suite needs")
		os.Exit(1)
	}
	configuration, err := writeConfiguration(image)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	kubeconfig = filepath.Join(filepath.Dir(configuration), "kubeconfig")
	testenv = env.NewWithConfig(envconf.New())
	testenv.Setup(create(image, configuration), furnish)
	testenv.Finish(remove)
	os.Exit(testenv.Run(m))
}

// writeConfiguration writes kind's configuration into a directory of its own, unless E2E_KIND_CONFIG names a file.
func writeConfiguration(image string) (string, error) {
	directory, err := os.MkdirTemp("", "packtree-kind-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(directory, "kind.yaml")
	if own := os.Getenv("E2E_KIND_CONFIG"); own != "" {
		content, err := os.ReadFile(own)
		if err != nil {
			return "", fmt.Errorf("reading E2E_KIND_CONFIG: %w", err)
		}
		return file, os.WriteFile(file, content, 0o600)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	content := configurationOf(strings.HasPrefix(image, "packtree-node:"), lacksResource(string(status)))
	return file, os.WriteFile(file, []byte(content), 0o600)
}

// create makes the cluster. The framework's own function waits for pods that not every image of a node has.
func create(image, configuration string) env.Func {
	return func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		arguments := []string{"create", "cluster", "--name", clusterName, "--config", configuration, "--kubeconfig",
			kubeconfig, "--wait", "10m"}
		if image != "default" {
			arguments = append(arguments, "--image", image)
		}
		_, err := run(ctx, "kind", arguments...)
		return ctx, err
	}
}

func remove(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	_, err := run(ctx, "kind", "delete", "cluster", "--name", clusterName, "--kubeconfig", kubeconfig)
	return ctx, errors.Join(err, os.RemoveAll(filepath.Dir(kubeconfig)))
}

// furnish loads the images onto every node that takes pods.
func furnish(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	archives, err := filepath.Glob(filepath.Join(root, "dist", "kind", "*.tar"))
	if err == nil && len(archives) == 0 {
		err = fmt.Errorf("no archives of images are in dist/kind; `make e2e-kind` makes them")
	}
	if err != nil {
		return ctx, err
	}
	workers, err := kubectl(ctx, "get", "nodes", "--selector=!node-role.kubernetes.io/control-plane", "-o",
		"jsonpath={.items[*].metadata.name}")
	if err != nil {
		return ctx, err
	}
	load := append([]string{"load", "image-archive", "--name", clusterName, "--nodes",
		strings.Join(strings.Fields(workers), ",")}, archives...)
	if _, err := run(ctx, "kind", load...); err != nil {
		return ctx, err
	}
	_, err = kubectl(ctx, "wait", "node", "--all", "--for=condition=Ready", timeout)
	return ctx, err
}

// kubectl runs the real kubectl as an administrator, and returns its output. If it fails, the error has its messages.
func kubectl(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "kubectl", args...)
}

func helm(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "helm", append(args, "--namespace=packtree-system")...)
}

func run(ctx context.Context, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(root, "bin", "tools", program), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	command.Dir = root
	var said, complaints bytes.Buffer
	command.Stdout, command.Stderr = &said, &complaints
	if err := command.Run(); err != nil {
		return said.String(), fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, complaints.String())
	}
	return said.String(), nil
}

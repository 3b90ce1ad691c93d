package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/shared/freeport"
)

// scheduler is one of the two that are compared.
type scheduler struct {
	// program is its name in the dev cluster.
	program string
	// takes is the spec.schedulerName of its pods.
	takes string
	// lease is the one that it holds while it schedules.
	leaseNamespace, lease string
}

var (
	ours = scheduler{program: "kai-topology-plugin", takes: "kai-scheduler", leaseNamespace: "packtree-system",
		lease: "kai-topology-plugin"}
	unmodified = scheduler{program: "kube-scheduler", takes: "default-scheduler", leaseNamespace: "kube-system",
		lease: "kube-scheduler"}
)

// both in the order of their turns.
var both = []scheduler{unmodified, ours}

// up brings the cluster up, with our scheduler from its chart and the unmodified one beside it, and stops both
// schedulers.
func up(ctx context.Context, o options) (*devcluster.Cluster, error) {
	cluster, err := devcluster.Up(ctx, devcluster.Options{
		Dir: o.Dir, Nodes: nodes(o.Nodes), Heartbeat: heartbeat, Components: []string{ours.program},
		Progress: o.Progress,
		Values: map[string]map[string]any{ours.program: {
			"clientConnection": map[string]any{"qps": o.QPS, "burst": o.Burst},
			"flowControl":      map[string]any{"enabled": o.FlowControl},
		}},
	})
	if err != nil {
		return nil, err
	}
	if err := runUnmodified(ctx, cluster, o); err != nil {
		return cluster, err
	}
	for _, scheduler := range both {
		if err := cluster.Stop(ctx, scheduler.program); err != nil {
			return cluster, err
		}
	}
	return cluster, nil
}

// runUnmodified starts kube-scheduler as kubeadm would: with its own user name, which the API server's flow control
// recognizes.
func runUnmodified(ctx context.Context, cluster *devcluster.Cluster, o options) error {
	kubeconfig, err := cluster.Identity("system:kube-scheduler")
	if err != nil {
		return err
	}
	configuration := filepath.Join(cluster.Dir, "kube-scheduler.yaml")
	content := fmt.Sprintf("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+
		"clientConnection: {kubeconfig: %q, qps: %d, burst: %d}\n", kubeconfig, o.QPS, o.Burst)
	if err := os.WriteFile(configuration, []byte(content), 0o600); err != nil {
		return err
	}
	port, err := freeport.Port()
	if err != nil {
		return err
	}
	return cluster.Run(ctx, devcluster.Program{
		Name: unmodified.program,
		Path: filepath.Join(cluster.Root(), "bin", "tools", "kube-scheduler"),
		Args: []string{
			"--config=" + configuration, "--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--v=2",
		},
		Health: fmt.Sprintf("https://127.0.0.1:%d/readyz", port),
	})
}

// buildReference builds the unmodified scheduler beside the other tools.
func buildReference(ctx context.Context, o options) error {
	root, err := devcluster.Repository()
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, filepath.Join(root, "e2e", "tools", "build.sh"), unmodified.program)
	build.Stdout, build.Stderr = o.Progress, o.Progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the unmodified kube-scheduler: %w", err)
	}
	return nil
}

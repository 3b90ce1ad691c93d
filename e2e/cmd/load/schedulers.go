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

// scheduler is one of the compared schedulers.
type scheduler struct {
	// program is its name in the dev cluster.
	program string
	// takes is the spec.schedulerName of its pods.
	takes string
	// lease is the one that it holds while it schedules.
	leaseNamespace, lease string
	// gates are feature gates beyond the defaults.
	gates string
}

var (
	ours = scheduler{program: "kai-topology-plugin", takes: "kai-scheduler", leaseNamespace: "packtree-system",
		lease: "kai-topology-plugin"}
	unmodified = scheduler{program: "kube-scheduler", takes: "default-scheduler", leaseNamespace: "kube-system",
		lease: "kube-scheduler"}
	// native is kube-scheduler with its own gangs, which Kubernetes 1.36 has behind feature gates.
	native = scheduler{program: "kube-scheduler-gangs", takes: unmodified.takes, leaseNamespace: unmodified.leaseNamespace,
		lease: unmodified.lease, gates: nativeGates}
)

// nativeGates are those of gangs with a required topology key.
const nativeGates = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"

// runReference starts a kube-scheduler as kubeadm would: with its own user name, which the API server's flow control
// recognizes.
func (b *bench) runReference(ctx context.Context, reference scheduler) error {
	cluster := b.Machine
	kubeconfig, err := cluster.Identity("system:kube-scheduler")
	if err != nil {
		return err
	}
	configuration := filepath.Join(cluster.Dir, reference.program+".yaml")
	content := fmt.Sprintf("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+
		"clientConnection: {kubeconfig: %q, qps: %d, burst: %d}\n", kubeconfig, b.QPS, b.QPS)
	if err := os.WriteFile(configuration, []byte(content), 0o600); err != nil {
		return err
	}
	port, err := freeport.Port()
	if err != nil {
		return err
	}
	return cluster.Run(ctx, devcluster.Program{
		Name: reference.program,
		Path: filepath.Join(cluster.Root(), "bin", "tools", "kube-scheduler"),
		Args: []string{
			"--config=" + configuration, "--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--v=2",
			"--feature-gates=" + reference.gates,
		},
		Health: fmt.Sprintf("https://127.0.0.1:%d/readyz", port),
	})
}

// progress receives lines that say what happens.
var progress = os.Stderr

// buildReference builds the unmodified scheduler beside the other tools.
func buildReference(ctx context.Context) error {
	root, err := devcluster.Repository()
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, filepath.Join(root, "e2e", "tools", "build.sh"), unmodified.program)
	build.Stdout, build.Stderr = progress, progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the unmodified kube-scheduler: %w", err)
	}
	return nil
}

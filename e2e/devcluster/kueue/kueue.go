// Package kueue runs Kueue's own manager beside a dev cluster. Its kinds and webhooks come from the Go module that
// `make tools` builds the manager from, so that what runs is one version of Kueue, and nothing of it is copied.
package kueue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/devcluster/internal/ports"
	"packtree.dev/e2e/devcluster/internal/programs"
	"packtree.dev/shared/freeport"
)

// Program is the name of Kueue's manager, among the tools and among a cluster's programs.
const Program = "kueue"

// namespace is where Kueue keeps what is its own.
const namespace = "kueue-system"

// frameworks are the kinds that Kueue queues here. It waits for kinds that the cluster does not have.
var frameworks = []string{
	"batch/job", "pod", "deployment", "statefulset", "jobset.x-k8s.io/jobset",
	"leaderworkerset.x-k8s.io/leaderworkerset", "ray.io/raycluster",
}

// Install installs Kueue's kinds and webhooks into a cluster, runs its manager under an administrator's account, and
// returns when the webhooks answer and kube-controller-manager knows the kinds.
func Install(ctx context.Context, cluster *devcluster.Cluster) error {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", cluster.Kubeconfig, err)
	}
	health, err := freeport.Address()
	if err != nil {
		return err
	}
	k := &installation{cluster: cluster, config: config}
	if err := k.prepare(ctx); err != nil {
		return fmt.Errorf("installing Kueue: %w", err)
	}
	if err := k.configure(health); err != nil {
		return fmt.Errorf("configuring Kueue: %w", err)
	}
	err = cluster.Run(ctx, devcluster.Program{
		Name:   Program,
		Path:   filepath.Join(cluster.Root(), "bin", "tools", Program),
		Args:   []string{"--config=" + configurationOf(cluster), "--kubeconfig=" + cluster.Kubeconfig, "--zap-log-level=2"},
		Health: "http://" + health + "/readyz",
	})
	if err != nil {
		return err
	}
	// The garbage collector learns of kinds when it starts, and every 30 s after that.
	if err := cluster.Stop(ctx, programs.ControllerManager); err != nil {
		return err
	}
	return cluster.Start(ctx, programs.ControllerManager)
}

// WaitForPodsReady is after how long Kueue evicts a workload with pods that are not ready, as a duration; empty for
// never. It is for Kueue's next start.
func WaitForPodsReady(cluster *devcluster.Cluster, timeout string) error {
	content, err := os.ReadFile(configurationOf(cluster))
	if err != nil {
		return err
	}
	configuration := map[string]any{}
	if err := yaml.Unmarshal(content, &configuration); err != nil {
		return err
	}
	delete(configuration, "waitForPodsReady")
	if timeout != "" {
		configuration["waitForPodsReady"] = map[string]any{"timeout": timeout}
	}
	return store(cluster, configuration)
}

// installation is Kueue in one cluster.
type installation struct {
	cluster  *devcluster.Cluster
	config   *rest.Config
	webhooks envtest.WebhookInstallOptions
}

// configure writes the configuration of Kueue's manager.
func (k *installation) configure(health string) error {
	return store(k.cluster, map[string]any{
		"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
		"namespace": namespace,
		"health":    map[string]any{"healthProbeBindAddress": health},
		"metrics":   map[string]any{"bindAddress": "0"},
		"webhook": map[string]any{
			"host": ports.Host, "port": k.webhooks.LocalServingPort, "certDir": k.certificates(),
		},
		"leaderElection": map[string]any{"leaderElect": false},
		"controller": map[string]any{"groupKindConcurrency": map[string]any{
			"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 5,
		}},
		"clientConnection": map[string]any{"qps": 500, "burst": 1000},
		"integrations":     map[string]any{"frameworks": frameworks},
		"featureGates":     map[string]any{"VisibilityOnDemand": false},
	})
}

func store(cluster *devcluster.Cluster, configuration map[string]any) error {
	content, err := yaml.Marshal(configuration)
	if err != nil {
		return err
	}
	return os.WriteFile(configurationOf(cluster), content, 0o600)
}

// configurationOf is the file of Kueue's configuration in a cluster's directory.
func configurationOf(cluster *devcluster.Cluster) string {
	return filepath.Join(cluster.Dir, Program, "configuration.yaml")
}

func (k *installation) certificates() string {
	return filepath.Join(k.cluster.Dir, Program, "certificates")
}

// Package kueue runs Kueue's own manager beside a dev cluster. Its kinds and webhooks come from the Go module that
// `make tools` builds the manager from, so that what runs is one version of Kueue, and nothing of it is copied.
package kueue

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/devcluster"
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

// Options configure Kueue.
type Options struct {
	// WaitForPodsReady is after how long Kueue evicts a workload with pods that are not ready, as a duration; empty
	// for never.
	WaitForPodsReady string
}

// Install installs Kueue's kinds and webhooks into a cluster, runs its manager under an administrator's account, and
// returns when the webhooks answer and kube-controller-manager knows the kinds.
func Install(ctx context.Context, cluster *devcluster.Cluster, options Options) error {
	module, err := module(ctx, cluster.Root())
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", cluster.Kubeconfig, err)
	}
	api, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	k := &installation{cluster: cluster, api: api, module: module}
	if err := k.prepare(ctx); err != nil {
		return fmt.Errorf("installing Kueue: %w", err)
	}
	file, err := k.configure(options)
	if err != nil {
		return fmt.Errorf("configuring Kueue: %w", err)
	}
	err = cluster.Run(ctx, devcluster.Program{
		Name:   Program,
		Path:   filepath.Join(cluster.Root(), "bin", "tools", Program),
		Args:   []string{"--config=" + file, "--kubeconfig=" + cluster.Kubeconfig, "--zap-log-level=2"},
		Health: "http://" + k.health + "/readyz",
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

// Reconfigure writes another configuration, which Kueue reads at its next start.
func Reconfigure(cluster *devcluster.Cluster, options Options) error {
	k := &installation{cluster: cluster}
	content, err := os.ReadFile(k.file(configurationFile))
	if err != nil {
		return err
	}
	configuration := map[string]any{}
	if err := yaml.Unmarshal(content, &configuration); err != nil {
		return err
	}
	_, err = k.store(configuration, options)
	return err
}

const configurationFile = "configuration.yaml"

// installation is Kueue in one cluster.
type installation struct {
	cluster *devcluster.Cluster
	api     client.Client
	// module is the directory of Kueue's Go module.
	module string
	// webhooks and health are addresses at which Kueue listens.
	webhooks, health string
	authority        []byte
}

// prepare creates what Kueue needs before it starts.
func (k *installation) prepare(ctx context.Context) (err error) {
	if k.webhooks, err = freeport.Address(); err != nil {
		return err
	}
	if k.health, err = freeport.Address(); err != nil {
		return err
	}
	if err := k.makeCertificates(ctx); err != nil {
		return err
	}
	if err := k.makeKinds(ctx); err != nil {
		return err
	}
	return k.makeWebhooks(ctx)
}

// configure writes the configuration of Kueue's manager and returns its file.
func (k *installation) configure(options Options) (string, error) {
	host, port, err := net.SplitHostPort(k.webhooks)
	if err != nil {
		return "", err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return "", err
	}
	configuration := map[string]any{
		"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
		"namespace":      namespace,
		"health":         map[string]any{"healthProbeBindAddress": k.health},
		"metrics":        map[string]any{"bindAddress": "0"},
		"webhook":        map[string]any{"host": host, "port": number, "certDir": k.file("certificates")},
		"leaderElection": map[string]any{"leaderElect": false},
		"controller": map[string]any{"groupKindConcurrency": map[string]any{
			"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 5,
		}},
		"clientConnection": map[string]any{"qps": 500, "burst": 1000},
		"integrations":     map[string]any{"frameworks": frameworks},
		"featureGates":     map[string]any{"VisibilityOnDemand": false},
	}
	return k.store(configuration, options)
}

// store writes a configuration with what the options say.
func (k *installation) store(configuration map[string]any, options Options) (string, error) {
	delete(configuration, "waitForPodsReady")
	if options.WaitForPodsReady != "" {
		configuration["waitForPodsReady"] = map[string]any{"timeout": options.WaitForPodsReady}
	}
	content, err := yaml.Marshal(configuration)
	if err != nil {
		return "", err
	}
	file := k.file(configurationFile)
	return file, os.WriteFile(file, content, 0o600)
}

// file is the path of one of Kueue's files in the cluster's directory.
func (k *installation) file(name string) string {
	return filepath.Join(k.cluster.Dir, Program, name)
}

// Package availability_test installs Packtree with values-ha.yaml on an ordinary cluster, and drains its nodes one by
// one. Its scheduler and controllers are Kubernetes' own, KWOK simulates nodes and pods, and the namespace admits only
// restricted pods. Packtree's programs do not run: Kubernetes alone decides where their pods are, and how many are
// left.
package availability_test

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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

const (
	// patience is how long anything may take, on a machine that does other things too.
	patience  = 4 * time.Minute
	namespace = "packtree-system"
)

var cluster *live.Own

// nodes are two in each of two zones.
func nodes() []*corev1.Node {
	var all []*corev1.Node
	for _, zone := range []string{"a", "b"} {
		for _, number := range []string{"1", "2"} {
			all = append(all, live.FakeNode(zone+number, map[string]string{corev1.LabelTopologyZone: zone}, 0))
		}
	}
	return all
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cluster, err = live.BringUpForTests(ctx, devcluster.Options{Nodes: nodes(), Components: []string{}})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.TakeDown(context.WithoutCancel(ctx))) }()
	scheduler, err := cluster.StartKubeScheduler(ctx)
	if err != nil {
		return 1, err
	}
	defer func() {
		stop()
		_ = scheduler.Wait()
	}()
	if err := install(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func install(ctx context.Context) error {
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := cluster.Create(ctx, restricted); err != nil {
		return err
	}
	return helm(ctx, "install", "packtree", chart(), "--namespace", namespace, "--values",
		filepath.Join(chart(), "values-ha.yaml"))
}

func chart() string { return filepath.Join(cluster.Machine.Root(), "charts", "packtree") }

// helm runs the built helm as an administrator, with a home of its own.
func helm(ctx context.Context, arguments ...string) error {
	home, err := os.MkdirTemp("", "packtree-helm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	command := exec.CommandContext(ctx, filepath.Join(cluster.Machine.Root(), "bin", "tools", "helm"), arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+cluster.Machine.Kubeconfig, "HELM_CACHE_HOME="+home,
		"HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("helm %s: %w: %s", strings.Join(arguments, " "), err, said.String())
	}
	return nil
}

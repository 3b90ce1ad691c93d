package live

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/apiproxy"
	"packtree.dev/e2e/devcluster"
)

// heartbeat is how long a node counts as alive by default: in most suites no node dies, and the renewal of nodes'
// leases would be a quarter of all requests.
const heartbeat = 10 * time.Minute

// patience is how long the operators may take to work once the cluster is up, on a busy machine.
const patience = 4 * time.Minute

// Own is a dev cluster that a suite has for itself, beside the developer's own one. The embedded Cluster acts on it as
// a user.
type Own struct {
	*Cluster
	// Machine are its programs.
	Machine *devcluster.Cluster
	// Server is the administrator's configuration for its API server.
	Server *rest.Config

	directory string
	ends      ends
	// unsupervise returns when no program is restarted any more.
	unsupervise func()
	down        sync.Once
}

// BringUp starts a dev cluster in a directory of its own, whatever Dir the options have, reports its progress on
// standard error, and returns when constraints that name no topology are accepted. If it fails nothing is left.
func BringUp(ctx context.Context, options devcluster.Options) (*Own, error) {
	directory, err := os.MkdirTemp("", "packtree-e2e-")
	if err != nil {
		return nil, err
	}
	options.Dir, options.Progress, options.Heartbeat = filepath.Join(directory, "cluster"), os.Stderr,
		cmp.Or(options.Heartbeat, heartbeat)
	own := &Own{directory: directory}
	if own.Machine, err = devcluster.Up(ctx, options); err != nil {
		return nil, fmt.Errorf("bringing a dev cluster up: %w", joined(err, os.RemoveAll(directory)))
	}
	own.supervise()
	if err := own.connect(ctx, options.Components); err != nil {
		return nil, joined(err, own.TakeDown(context.WithoutCancel(ctx)))
	}
	return own, nil
}

func (o *Own) connect(ctx context.Context, components []string) (err error) {
	if o.Server, err = clientcmd.BuildConfigFromFlags("", o.Machine.Kubeconfig); err != nil {
		return fmt.Errorf("reading %s: %w", o.Machine.Kubeconfig, err)
	}
	if o.Cluster, err = Connect(o.Server); err != nil {
		return err
	}
	if components != nil && !slices.Contains(components, "grove-operator") {
		return nil
	}
	waiting, cancel := context.WithTimeout(o.While(ctx), patience)
	defer cancel()
	return Wait(waiting, "grove-operator has made the topology of its configuration", o.DefaultTopologyMade)
}

// Kubectl runs the real kubectl, as an administrator in a namespace, and returns its whole output. If it fails the
// error has the output too.
func (o *Own) Kubectl(ctx context.Context, namespace string, args ...string) (string, error) {
	common := []string{
		"--kubeconfig=" + o.Machine.Kubeconfig, "--namespace=" + namespace,
		"--cache-dir=" + filepath.Join(o.Machine.Dir, "kubectl"),
	}
	program := devcluster.Tool(o.Machine.Root(), "kubectl")
	output, err := exec.CommandContext(ctx, program, append(common, args...)...).CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return string(output), nil
}

// Behind restarts a program, which from then on reaches the API server through a proxy.
func (o *Own) Behind(ctx context.Context, program string, proxy *apiproxy.Proxy) error {
	if err := o.Machine.Stop(ctx, program); err != nil {
		return err
	}
	if err := o.Machine.Redirect(program, proxy.URL, proxy.Authority); err != nil {
		return err
	}
	return o.Machine.Start(ctx, program)
}

// TakeDown ends every program of the cluster and removes its directory. Only the first call does so and returns what
// went wrong; others return when that one has ended.
func (o *Own) TakeDown(ctx context.Context) (err error) {
	o.down.Do(func() {
		o.unsupervise()
		if err = o.Machine.Down(ctx); err != nil {
			err = fmt.Errorf("taking the dev cluster down: %w", err)
			return
		}
		err = os.RemoveAll(o.directory)
	})
	return err
}

// joined is the first error, joined with errors of the cleanup after it.
func joined(err, cleaning error) error {
	if cleaning == nil {
		return err
	}
	return fmt.Errorf("%w; and cleaning up: %w", err, cleaning)
}

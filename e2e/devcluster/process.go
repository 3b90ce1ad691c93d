package devcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// Program is a program that runs beside the cluster and ends with it.
type Program struct {
	// Name is unique in the cluster. Its log is logs/<name>.log.
	Name string
	// Path is the executable, and Args its arguments.
	Path string
	Args []string
	// Health is the URL that answers with 200 once it works.
	Health string
}

// Run starts a further program and returns when it works.
func (c *Cluster) Run(ctx context.Context, program Program) error {
	return c.launch(ctx, program.Name, func(last *processes.Process, _ statedir.Process) (run, error) {
		if last != nil {
			return run{}, fmt.Errorf("%s runs already, or has run: Start starts it again", program.Name)
		}
		return run{
			spec:  processes.Spec{Program: program.Path, Args: program.Args},
			about: statedir.Process{Name: program.Name, Component: true, Health: program.Health},
		}, nil
	})
}

// Start restarts a program that has ended, with the same arguments, and returns when it works.
func (c *Cluster) Start(ctx context.Context, name string) error {
	return c.launch(ctx, name, func(last *processes.Process, about statedir.Process) (run, error) {
		switch {
		case last == nil:
			return run{}, fmt.Errorf("%s is not in this cluster", name)
		case last.Runs():
			return run{}, fmt.Errorf("%s runs already", name)
		}
		return run{last.Spec, about}, nil
	})
}

// Kill ends a program as a crash of its machine would: at once and without cleanup.
func (c *Cluster) Kill(name string) error {
	process := c.process(name)
	if process == nil {
		return fmt.Errorf("%s is not in this cluster", name)
	}
	process.Kill()
	return nil
}

// Stop asks a program to end and returns when it has.
func (c *Cluster) Stop(ctx context.Context, name string) error {
	process := c.process(name)
	if process == nil {
		return fmt.Errorf("%s is not in this cluster", name)
	}
	process.Terminate()
	select {
	case <-process.Ended():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting until %s ends: %w", name, context.Cause(ctx))
	}
}

// PID is the process of a program; 0 if it has ended.
func (c *Cluster) PID(name string) int {
	if process := c.process(name); process != nil && process.Runs() {
		return process.PID
	}
	return 0
}

// Ended is closed when the present run of a program has ended; nil if there is no such program.
func (c *Cluster) Ended(name string) <-chan struct{} {
	process := c.process(name)
	if process == nil {
		return nil
	}
	return process.Ended()
}

// Refresh updates a component's mounted ConfigMaps and Secrets, as its kubelet would. Files that the component reads
// only at its start need a restart.
func (c *Cluster) Refresh(ctx context.Context, component string) error {
	if !slices.Contains(c.plane.Components, component) {
		return fmt.Errorf("%s is not in this cluster", component)
	}
	translated, err := c.plane.translated(ctx, component)
	if err != nil {
		return err
	}
	return c.plane.fillAll(ctx, component, translated.Mounts)
}

// Renew gives the webhooks of a component another certificate, of the same authority, without a restart.
func (c *Cluster) Renew(ctx context.Context, component string) error {
	secret, err := c.plane.newWebhookSecret(component)
	if err != nil {
		return err
	}
	if _, err := c.plane.client.CoreV1().Secrets(namespace).Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("renewing the certificate of %s: %w", component, err)
	}
	return c.Refresh(ctx, component)
}

// Redirect changes the API server's URL for a component, for example to that of a proxy, from its next start on. The
// authority, as PEM, signed its certificate.
func (c *Cluster) Redirect(component, server string, authority []byte) error {
	file := c.plane.dir.Path(kubeconfigOf(component))
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of %s: %w", component, err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = server, authority
	}
	return clientcmd.WriteToFile(*config, file)
}

// Identity writes a kubeconfig for a user with a certificate, and returns its path.
func (c *Cluster) Identity(user string, groups ...string) (string, error) {
	file := filepath.Join("identities", user+".kubeconfig")
	_, err := c.plane.kubeconfig(file, user, groups...)
	return filepath.Join(c.Dir, file), err
}

// run has the inputs of a program's start, and its entry in the state.
type run struct {
	spec  processes.Spec
	about statedir.Process
}

// launch starts a program with inputs that choose makes from those of its last run, and returns when it works. It holds
// the directory's lock, so that Down cannot miss the program, and Supervise does not start it at the same time.
func (c *Cluster) launch(
	ctx context.Context, name string, choose func(last *processes.Process, about statedir.Process) (run, error),
) error {
	chosen, process, err := c.begin(ctx, name, choose)
	if err != nil {
		return err
	}
	if err := c.plane.probe.await(ctx, chosen.about.Health, process); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	return nil
}

// begin starts a program while no other one is started.
func (c *Cluster) begin(
	ctx context.Context, name string, choose func(last *processes.Process, about statedir.Process) (run, error),
) (run, *processes.Process, error) {
	dir, err := c.claimAgain(ctx)
	if err != nil {
		return run{}, nil, err
	}
	defer dir.Release()
	c.plane.dir = dir
	chosen, err := choose(c.plane.process(name))
	if err != nil {
		return run{}, nil, err
	}
	c.plane.forget(name)
	process, err := c.plane.keep(chosen.spec, chosen.about)
	return chosen, process, err
}

// claimAgain takes the lock that Up has released. Another process that starts a program may hold it and, for a moment,
// one that reads the status.
func (c *Cluster) claimAgain(ctx context.Context) (*statedir.Dir, error) {
	for {
		dir, err := statedir.Existing(c.Dir)
		if !errors.Is(err, statedir.ErrBusy) {
			return dir, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (c *Cluster) process(name string) *processes.Process {
	process, _ := c.plane.process(name)
	return process
}

// Root is the clone of the repository with the cluster's programs.
func (c *Cluster) Root() string {
	return c.plane.Root
}

// Health is the URL of a program's health endpoint; empty if there is no such program.
func (c *Cluster) Health(name string) string {
	_, about := c.plane.process(name)
	return about.Health
}

// Demo runs all of docs/examples on a control plane of its own: they are applied, placed, checked and drawn.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/shared/render"
)

// namespace of the examples.
const namespace = "default"

// patience is how long one wait may take before the demo gives up.
const patience = 4 * time.Minute

func main() {
	// When the pipe with the output is closed, the cluster still has to be taken down.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(render.ExecuteUntilStopped(&cobra.Command{
		Use:   "demo",
		Short: "Apply, place, check and draw docs/examples on a control plane of its own, which stays with KEEP=1",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return run(command.Context(), command.OutOrStdout()) },
	}))
}

// run brings the cluster up, shows the examples, and takes the cluster down again, whatever happened.
func run(ctx context.Context, out io.Writer) (err error) {
	directory, err := examples.Directory()
	if err != nil {
		return err
	}
	all, err := examples.Load(directory, namespace)
	if err != nil {
		return err
	}
	d := &demo{out: out, began: time.Now()}
	if d.machine, err = devcluster.Up(ctx, devcluster.Options{Progress: out}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.finish(context.WithoutCancel(ctx))) }()
	config, err := clientcmd.BuildConfigFromFlags("", d.machine.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.WarningHandler = rest.NoWarnings{}
	if d.Cluster, err = live.Connect(config); err != nil {
		return err
	}
	if err := d.place(ctx, all); err != nil {
		return err
	}
	if err := d.draw(ctx); err != nil {
		return err
	}
	return d.judge(ctx, all)
}

// demo is a running cluster.
type demo struct {
	*live.Cluster
	machine *devcluster.Cluster
	out     io.Writer
	began   time.Time
}

// place applies the examples, and waits until all pods run, and the workload that cannot fit says why.
func (d *demo) place(ctx context.Context, all []examples.Example) error {
	if err := d.wait(ctx, "grove-operator has made the default topology", d.DefaultTopologyMade); err != nil {
		return err
	}
	for _, example := range all {
		if err := d.Apply(ctx, example.Objects...); err != nil {
			return fmt.Errorf("%s: %w", example.File, err)
		}
	}
	d.say("%d examples are applied", len(all))
	for _, example := range all {
		for _, object := range example.Objects {
			workload, is, err := d.Workload(ctx, object)
			if err != nil {
				return err
			}
			what, look := "all pods of "+workload.Object+" run", d.Runs(workload, namespace)
			switch {
			case !is:
				continue
			case !example.Fits:
				what, look = live.Name(object)+" says why it cannot fit", d.Explained(object)
			}
			if err := d.wait(ctx, what, look); err != nil {
				return fmt.Errorf("%w\n%s", err, d.Reasons(ctx, namespace))
			}
		}
	}
	return nil
}

// draw shows the placement as users see it: with kubectl packtree tree.
func (d *demo) draw(ctx context.Context) error {
	fmt.Fprintln(d.out)
	tree := exec.CommandContext(ctx, filepath.Join(d.machine.Root(), "bin", "kubectl-packtree"), "tree",
		"--kubeconfig="+d.machine.Kubeconfig)
	tree.Stdout, tree.Stderr = d.out, d.out
	if err := tree.Run(); err != nil {
		return fmt.Errorf("drawing the topology: %w", err)
	}
	fmt.Fprintln(d.out)
	return nil
}

// judge checks every constraint by the labels of the nodes, and shows why the workload that cannot fit waits.
func (d *demo) judge(ctx context.Context, all []examples.Example) error {
	var broken []error
	for _, example := range all {
		for _, object := range example.Objects {
			if _, is, err := d.Workload(ctx, object); err != nil || !is {
				broken = append(broken, err)
				continue
			}
			if !example.Fits {
				ready, err := d.Condition(ctx, object, "Ready")
				if err != nil {
					return err
				}
				fmt.Fprintf(d.out, "  %s waits: %s\n", live.Name(object), ready.Message)
				continue
			}
			findings, err := d.Findings(ctx, object)
			broken = append(broken, err)
			for _, finding := range findings {
				mark := "✓"
				if !finding.Held() {
					mark = "✗"
					broken = append(broken, fmt.Errorf("broken: %s", finding))
				}
				fmt.Fprintf(d.out, "  %s %s\n", mark, finding)
			}
		}
	}
	return errors.Join(broken...)
}

// finish takes the cluster down, or says how to reach a cluster that is kept.
func (d *demo) finish(ctx context.Context) error {
	if os.Getenv("KEEP") == "1" {
		fmt.Fprintf(d.out, "\nThe cluster stays up. To look at it, and to end it:\n\n"+
			"  export KUBECONFIG=%s\n  bin/devcluster down\n", d.machine.Kubeconfig)
		return nil
	}
	if _, err := devcluster.Down(ctx, d.machine.Dir); err != nil {
		return fmt.Errorf("the cluster may still run, `bin/devcluster down` ends it: %w", err)
	}
	d.say("everything is taken down")
	return nil
}

func (d *demo) wait(ctx context.Context, what string, look live.Look) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := live.Wait(ctx, what, look); err != nil {
		return err
	}
	d.say("%s", what)
	return nil
}

// say prints a line like those of the dev cluster's start.
func (d *demo) say(format string, arguments ...any) {
	fmt.Fprintf(d.out, "%6.1fs  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, arguments...))
}

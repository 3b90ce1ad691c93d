// Demo runs all of docs/examples on a control plane of its own: they are applied, placed, checked and drawn.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/shared/render"
)

func main() {
	os.Exit(render.ExecuteUntilStopped(newCommand()))
}

func newCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Everything in docs/examples, on a control plane of its own: applied, placed, checked, drawn",
		Long: `Brings up the dev cluster, applies everything in docs/examples, waits until every pod runs and the
workload that cannot fit says why, checks each constraint by the labels of the nodes, draws the placement, and takes the
cluster down again.

With KEEP=1 in the environment the cluster stays up, and the demo ends with how to reach it.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			// When the pipe with the output is closed, the cluster still has to be taken down.
			signal.Ignore(syscall.SIGPIPE)
			ctx := command.Context()
			err := run(ctx, newProgress(os.Stdout))
			if ctx.Err() != nil && !errors.Is(err, errLeft) {
				return interrupted{}
			}
			return err
		},
	}
}

// interrupted is the error of an end by Ctrl-C.
type interrupted struct{}

// Error says so.
func (interrupted) Error() string { return "interrupted" }

// ExitCode is the one that shells expect then.
func (interrupted) ExitCode() int { return 130 }

// errLeft is returned if the cluster could not be taken down.
var errLeft = errors.New("the cluster may still run: `bin/devcluster down` ends it")

// run brings the cluster up, runs the demo, and takes the cluster down again, whatever happened.
func run(ctx context.Context, shown *progress) (err error) {
	directory, err := examples.Directory()
	if err != nil {
		return err
	}
	all, err := examples.Load(directory, namespace)
	if err != nil {
		return err
	}
	cluster, err := up(ctx, shown)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, finish(shown, cluster))
	}()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	connected, err := live.Connect(config)
	if err != nil {
		return err
	}
	return (&walk{cluster: connected, machine: cluster, progress: shown, examples: all}).run(ctx)
}

func up(ctx context.Context, shown *progress) (*devcluster.Cluster, error) {
	var cluster *devcluster.Cluster
	err := shown.step("control plane, nodes and components are up", func(say func(string)) (err error) {
		cluster, err = devcluster.Up(ctx, devcluster.Options{Progress: lines(say)})
		return err
	})
	return cluster, err
}

// finish takes the cluster down and shows the times, or says how to reach a cluster that is kept.
func finish(shown *progress, cluster *devcluster.Cluster) error {
	if os.Getenv("KEEP") == "1" {
		shown.print("")
		shown.table()
		shown.print("\nThe cluster stays up. To look at it, and to end it:\n")
		shown.print("  export KUBECONFIG=" + cluster.Kubeconfig)
		shown.print("  bin/devcluster down")
		return nil
	}
	// The demo's context may have ended by Ctrl-C.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := shown.step("everything is taken down", func(func(string)) error {
		if _, err := devcluster.Down(ctx, cluster.Dir); err != nil {
			return errors.Join(err, errLeft)
		}
		return nil
	})
	shown.print("")
	shown.table()
	return err
}

// lines passes each line that is written to it to a function.
type lines func(string)

// Write takes whole lines, in which progress is written.
func (l lines) Write(written []byte) (int, error) {
	l(shorten(string(written)))
	return len(written), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/devcluster"
)

// noComponents asks for a bare control plane.
const noComponents = "none"

func upCommand(dir *string) *cobra.Command {
	var options devcluster.Options
	var keep bool
	components := devcluster.Components
	command := &cobra.Command{
		Use:   "up",
		Short: "Bring a cluster up",
		Long: `Brings a cluster up, says how to reach it, and waits: Ctrl-C takes it down again. With --keep it returns
when all works and leaves the cluster running until 'devcluster down'. A start that fails or is interrupted leaves
nothing.

A pod that is bound to a node runs and is ready at once, and until it is deleted. With the annotation
pod-complete.stage.kwok.x-k8s.io/delay, for example "5s", it succeeds after that time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Dir, options.Progress = *dir, cmd.ErrOrStderr()
			options.Components = components
			if len(components) == 1 && components[0] == noComponents {
				options.Components = []string{}
			}
			return up(cmd, options, keep)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.NodesFile, "nodes", "",
		"file with Node manifests, - for standard input (default docs/examples/nodes.yaml)")
	flags.BoolVar(&keep, "keep", false, "return when all works, and leave the cluster running")
	flags.StringToStringVar(&options.Programs, "program", nil, "run another binary for a component, as component=path")
	flags.DurationVar(&options.Heartbeat, "heartbeat", 0,
		"how long a node is believed to live without one; longer ones for thousands of nodes (default 40s)")
	flags.StringSliceVar(&components, "components", components,
		"components to install and run, or none for a bare control plane")
	return command
}

func up(cmd *cobra.Command, options devcluster.Options, keep bool) error {
	ctx, began := cmd.Context(), time.Now()
	cluster, err := devcluster.Up(ctx, options)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; nothing is left of the cluster")
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "The cluster is up after %.1f s.\n\n  export KUBECONFIG=%s\n\n", time.Since(began).Seconds(),
		cluster.Kubeconfig)
	if keep {
		fmt.Fprintln(out, "`devcluster status` shows what runs, `devcluster down` ends it.")
		return nil
	}
	fmt.Fprintln(out, "Ctrl-C takes it down.")
	gone := cluster.Supervise(ctx, func(end devcluster.End) { fmt.Fprintln(cmd.ErrOrStderr(), end) })
	// The context may have ended, but the cluster has to be taken down nevertheless.
	found, err := devcluster.Down(context.WithoutCancel(ctx), cluster.Dir)
	switch {
	case err != nil:
		return err
	case gone != nil && found:
		return gone
	default:
		fmt.Fprintln(out, "The cluster is down.")
		return nil
	}
}

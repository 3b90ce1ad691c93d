// Command chaos lets our scheduler place gangs while everything around it fails, and reports the end state.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/apiproxy"
	"packtree.dev/e2e/chaos"
	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
	"packtree.dev/shared/render"
)

func main() { os.Exit(render.ExecuteUntilStopped(newCommand())) }

func newCommand() *cobra.Command {
	options := chaos.Options{}
	command := &cobra.Command{
		Use:   "chaos",
		Short: "Have bindings fail, nodes flap, objects change and the scheduler die, and judge what stands in the end",
		Long: `Brings up a dev cluster of its own, whose scheduler reaches the API server through a proxy that makes
bindings fail at random: half of them are refused, and half are made and not answered. Meanwhile gangs come and go,
nodes are deleted, tainted, cordoned and moved to other racks, pods are deleted, some of them with finalizers, PodGroups
are edited, the Topology is deleted and recreated, and the scheduler is killed.

Then all of that stops, until nothing changes any more. At the end each gang has its minimum on nodes in its domain, or
has no pod bound and a condition that it does not fit; and place, given the same objects, decides the same. Exits with 1
if that is not so. Needs 'make build tools'.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return run(command, options) },
	}
	options.Progress = command.ErrOrStderr()
	flags := command.Flags()
	flags.IntVar(&options.Gangs, "gangs", 1000, "how many gangs come")
	flags.DurationVar(&options.Pace, "pace", 200*time.Millisecond, "time between two gangs")
	flags.IntVar(&options.Racks, "racks", 56, "racks of 8 nodes with 8 GPUs each")
	flags.Float64Var(&options.Failing, "failing", 0.05, "share of bindings that fail")
	flags.DurationVar(&options.Kill, "kill", 20*time.Second, "time between two deaths of the scheduler")
	flags.DurationVar(&options.Trouble, "trouble", 500*time.Millisecond,
		"time between two changes of nodes, of pods, of PodGroups")
	flags.DurationVar(&options.Patience, "patience", 5*time.Minute, "how long it may take to come to rest")
	flags.Uint64Var(&options.Seed, "seed", uint64(time.Now().Unix()), "seed of the choices")
	return command
}

func run(command *cobra.Command, options chaos.Options) (err error) {
	ctx := command.Context()
	own, err := live.BringUp(ctx, devcluster.Options{Components: []string{chaos.Scheduler}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.TakeDown(context.WithoutCancel(ctx))) }()
	// The client must not delay requests.
	own.Server.QPS = -1
	if own.Cluster, err = live.Connect(own.Server); err != nil {
		return err
	}
	run := chaos.New(own, "chaos", options)
	proxy, err := apiproxy.Listen(own.Server, run.Fate)
	if err != nil {
		return err
	}
	defer proxy.Close()
	if err := own.Behind(ctx, chaos.Scheduler, proxy); err != nil {
		return err
	}
	report, err := run.Do(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(command.OutOrStdout(), report)
	if len(report.Violations) > 0 {
		return fmt.Errorf("%d violations with seed %d", len(report.Violations), options.Seed)
	}
	return nil
}

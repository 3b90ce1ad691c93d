package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/load"
)

const setsExplanation = `Brings up a dev cluster with grove-operator and no scheduler, so that no pod gets a node after
its gate is removed.

scale    One set is created, scaled to zero and back. The clock runs from the request until the last pod has lost the
         operator's gate, or is gone; AT REST is when the operator has nothing left to do and all statuses are written.
steady   Nothing happens: what is written, and what the operator computes.
restart  The operator is started anew beside many pods, and again with as many pods of no set in addition.
many     Small sets are created at once: how long each reconcile takes, by controller-runtime's histogram, when there is
         more to do than can be done.
life     The small sets stand, and once a second one of them is edited, or it or a part of it is scaled out or in: the
         same histogram. No pod has a node, so that none becomes ready.

topologies  Many small sets use one ClusterTopology. Levels of another one change; a level of theirs is removed and
            restored, and the clock runs until the conditions of all sets show it in a watch; then their topology is
            deleted: how long the API server takes to answer.

WRITTEN is what the API server counted, for all programs, without leases and nodes.`

func setsCommand() *cobra.Command {
	options := load.SetsOptions{}
	command := measurement(cobra.Command{
		Use: "sets", Short: "Measure grove-operator: pods a second, writes, memory, reconciles", Long: setsExplanation,
	}, &options.Common, load.SetsParts,
		func(ctx context.Context) (report, error) { return load.MeasureSets(ctx, options) })
	flags := command.Flags()
	flags.IntVar(&options.Replicas, "replicas", 500, "replicas, of two pods each, of the large set")
	flags.DurationVar(&options.Quiet, "quiet", time.Minute, "how long the part steady looks")
	flags.IntVar(&options.Pods, "pods", 10000, "pods of sets at the restart")
	flags.IntVar(&options.Foreign, "foreign", 10000, "pods of nobody's at the second restart; 0 leaves it out")
	flags.IntVar(&options.Sets, "sets", 200, "small sets, of six pods each")
	flags.IntVar(&options.Changes, "changes", 63,
		"changes of small sets in the part life, one a second; rounded up to whole rounds of seven")
	flags.IntVar(&options.Users, "users", 1000, "sets, of one pod each, that use one ClusterTopology")
	flags.IntVar(&options.QPS, "qps", 0, "runtimeClientConnection.qps of the operator (default: its own)")
	flags.IntVar(&options.Burst, "burst", 0, "runtimeClientConnection.burst of the operator, with --qps")
	flags.IntVar(&options.Syncs, "syncs", 0, "controllers.<each>.concurrentSyncs of the operator (default: its own)")
	return command
}

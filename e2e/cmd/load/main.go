// Command load measures Packtree's scheduler against the unmodified kube-scheduler on one dev cluster.
package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/shared/render"
)

func main() { os.Exit(render.ExecuteUntilStopped(newCommand())) }

const explanation = `Brings up a dev cluster with nodes that KWOK simulates, and has the unmodified kube-scheduler and
ours take turns on it under the same conditions. Everything runs on this machine and shares its processors: etcd, the
API server and the scheduler that is measured. KWOK rests meanwhile: how many of its writes fall into the time of a
scheduler would depend on how it binds.

All pods are created while no scheduler runs. Then one starts and reads them; the clock runs from the moment in which
it holds its lease until the last pod is bound. kube-scheduler binds plain pods, and with its feature gates on gangs of
its own, each in one rack, or in one block if a rack is too small. Ours binds the same, and gangs in nested constraints:
each gang in one zone, each of its groups, of up to 100 pods, in one rack.

Rounds are repeated, every other one in reverse, and the report has medians; RATIO is to the same figure of
kube-scheduler, for the same pods, or for its plain ones where it has no such gangs. With --ending both are measured for
a minute or more in which pods end and come and gangs wait: what they compute, how long plain pods wait, and whether
their memory grows. With --standing it is measured beside so many running pods: how long it takes from its start,
and from the end of the leader, until the next gang is bound. With --queued gangs of 2 to 16 pods in one rack each come,
without Kueue and then with it, from two queues with half of the GPUs each: how long it takes until all pods of a gang
are bound, from its admission by Kueue or from its creation.

The table at the end goes to standard output, progress to standard error. Needs 'make build tools'; kube-scheduler is
built by e2e/tools/build.sh when it is not there yet.`

// options choose the measurements; the flags say what they mean.
type options struct {
	Nodes, Pods, Repeats, QPS         int
	Ending, Waiting, Queued, Standing int
	Every, For                        time.Duration
	Gangs                             []int
	Patience                          time.Duration
}

func newCommand() *cobra.Command {
	o := options{}
	command := &cobra.Command{
		Use:     "load",
		Short:   "Measure Packtree's scheduler against the unmodified kube-scheduler on one cluster",
		Long:    explanation,
		Example: "  go run ./e2e/cmd/load --nodes 500 --pods 1000 --gangs 64 --repeats 1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			measured, err := measure(cmd.Context(), o)
			if err != nil {
				return err
			}
			return measured.Print(cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.IntVar(&o.Nodes, "nodes", 5000, "nodes of 8 GPUs, 16 to a rack")
	flags.IntVar(&o.Pods, "pods", 4000, "pods in each turn")
	flags.IntSliceVar(&o.Gangs, "gangs", []int{4, 64, 1000}, "sizes of gangs")
	flags.IntVar(&o.Ending, "ending", 0, "measure in a busy cluster in which so many pods a second end")
	flags.IntVar(&o.Waiting, "waiting", 1000, "gangs that wait meanwhile")
	flags.DurationVar(&o.For, "for", time.Minute, "how long they end and come")
	flags.IntVar(&o.Standing, "standing", 0, "measure the start and the change of leader of ours beside so many pods")
	flags.IntVar(&o.Queued, "queued", 0, "measure what Kueue adds to the time of so many gangs")
	flags.DurationVar(&o.Every, "every", time.Millisecond, "time from one of these gangs to the next")
	flags.IntVar(&o.Repeats, "repeats", 3, "how often each thing is measured")
	flags.IntVar(&o.QPS, "qps", 1000, "clientConnection.qps and burst of both schedulers")
	flags.DurationVar(&o.Patience, "patience", 20*time.Minute, "bound of each wait")
	return command
}

// measure brings a dev cluster up, has the schedulers take turns with each workload, and takes it down again.
func measure(ctx context.Context, o options) (measured *report, err error) {
	b, err := up(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if left := b.TakeDown(context.WithoutCancel(ctx)); err == nil {
			err = left
		}
	}()
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	if o.Ending > 0 {
		return b.report, b.churn(ctx)
	}
	if o.Standing > 0 {
		return b.report, b.large(ctx)
	}
	if o.Queued > 0 {
		return b.report, b.queued(ctx)
	}
	return b.report, b.rounds(ctx)
}

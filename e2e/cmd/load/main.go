// Command load measures Packtree's scheduler against the unmodified kube-scheduler on one dev cluster. Its commands
// sets, deployments and groups measure the operators and podgrouper.
//
// Both schedulers take turns under the same conditions: pods exist before the measured scheduler starts, the clock runs
// from the moment in which it holds its lease until the last pod has a node, and all other programs (the API server,
// etcd and this program's own watch) do the same work for both. The kubelets, which KWOK simulates, rest meanwhile: how
// many of their writes fall into the time of a scheduler would depend on how it binds.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"packtree.dev/shared/render"
)

func main() { os.Exit(render.ExecuteUntilStopped(newCommand())) }

const explanation = `Brings up a dev cluster whose nodes KWOK simulates, and has the unmodified kube-scheduler and
ours take turns on it. Everything runs on this machine and shares its processors: etcd, the API server, KWOK and the
scheduler that is measured.

throughput  All pods are created while no scheduler runs. Then one starts and reads them; the clock runs from the moment
            in which it holds its lease until the last pod is bound. kube-scheduler binds plain pods; ours binds plain
            pods, and gangs in nested constraints: each gang in one zone, each of its groups, of up to 100 pods, in one
            rack. KWOK rests meanwhile and during start, unless --kubelets is given.
start       Our scheduler runs, a gang is created; the clock runs from the moment in which the API server has taken the
            last pod until all are bound.
memory      Resident memory of each scheduler beside the running pods, which are in gangs, after it has bound 512 more.
refusal     A gang of 1,000 pods arrives for which no rack has room: how long a decision takes by the scheduler's own
            metric, how many decisions there are, and how many there are during 1,000 changes of nodes that make no
            room.

Rounds alternate and are repeated, and the report has medians; RATIO is to the same figure of kube-scheduler, for its
plain pods. The table at the end goes to standard output, progress to standard error. Needs
'make build tools'; kube-scheduler is built by e2e/tools/build.sh when it is not there yet.`

// options choose the measurements of the schedulers; the flags say what they mean.
type options struct {
	common
	Nodes, Pods, Gang, Running, Repeats, QPS, Burst int
	Gangs                                           []int
	FlowControl, Kubelets                           bool
}

func newCommand() *cobra.Command {
	o := options{}
	command := measurement(cobra.Command{
		Use:   "load",
		Short: "Measure Packtree's scheduler against the unmodified kube-scheduler on one cluster",
		Long:  explanation,
		Example: "  go run ./e2e/cmd/load\n  go run ./e2e/cmd/load --parts throughput --nodes 500 --pods 1000 " +
			"--gangs 64 --repeats 1",
	}, &o.common, func(ctx context.Context) (report, error) { return measure(ctx, o) },
		"throughput", "start", "memory", "refusal")
	command.AddCommand(setsCommand(), deploymentsCommand(), groupsCommand())
	flags := command.Flags()
	flags.IntVar(&o.Nodes, "nodes", 5000, "nodes of 8 GPUs, 16 to a rack")
	flags.IntVar(&o.Pods, "pods", 4000, "pods in each run of throughput")
	flags.IntSliceVar(&o.Gangs, "gangs", []int{4, 64, 1000}, "sizes of gangs for throughput")
	flags.IntVar(&o.Gang, "gang", 512, "size of the gang for start")
	flags.IntVar(&o.Running, "running", 20000, "running pods for memory and refusal")
	flags.IntVar(&o.Repeats, "repeats", 3, "how often each thing is measured")
	flags.IntVar(&o.QPS, "qps", 1000, "clientConnection.qps of both schedulers")
	flags.IntVar(&o.Burst, "burst", 1000, "clientConnection.burst of both schedulers")
	flags.BoolVar(&o.FlowControl, "flow-control", true, "install our chart's FlowSchemas")
	flags.BoolVar(&o.Kubelets, "kubelets", false, "have kubelets work in throughput and start")
	return command
}

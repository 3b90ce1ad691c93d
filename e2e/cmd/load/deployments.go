package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/load"
)

const deploymentsExplanation = `Brings up a dev cluster with dynamo-operator and grove-operator and no scheduler, so
that no pod gets a node after its gate is removed.

First one deployment of several services, of a pod each, is created and deleted several times, alone in the cluster: the
clock runs from the request until the last pod is there. Then many small deployments are created, a frontend and a
worker each, and when both operators have come to rest nothing happens: what is written, what dynamo-operator computes,
and its memory. Then it is started anew beside them, and in the end the first deployment is created again beside them.

Steps are timed until the last pod has lost Grove's gate; AT REST is when both operators have nothing left to do. CPU
and reconciles are those of dynamo-operator. WRITTEN is what the API server counted, for all programs, without leases
and nodes.`

func deploymentsCommand() *cobra.Command {
	options := load.DeploymentsOptions{}
	command := measurement(cobra.Command{
		Use: "deployments", Short: "Measure dynamo-operator: start of a deployment, writes, memory",
		Long: deploymentsExplanation,
	}, &options.Common, nil,
		func(ctx context.Context) (report, error) { return load.MeasureDeployments(ctx, options) })
	flags := command.Flags()
	flags.IntVar(&options.Deployments, "deployments", 500, "small deployments; 0 leaves them out")
	flags.IntVar(&options.Services, "services", 10, "services of the deployment whose start is measured")
	flags.IntVar(&options.Repeats, "repeats", 5, "how often that is created")
	flags.DurationVar(&options.Quiet, "quiet", time.Minute, "how long the steady state is looked at")
	return command
}

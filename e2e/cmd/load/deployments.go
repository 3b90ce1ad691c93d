package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/load"
)

const deploymentsExplanation = `Brings up a dev cluster with dynamo-operator and grove-operator and no scheduler, so that pods wait on no node once their gates are open.

First one deployment of several services, of a pod each, is created and deleted several times, alone in the cluster: the clock runs from the
request until the last pod is there. Then many small deployments are created, a frontend and a worker each, and when both operators
have come to rest nothing happens: what is written, what dynamo-operator computes, and its memory. Then it is started anew beside them, and in the end
the first deployment is created again beside them.

Steps are timed until the last pod has lost Grove's gate; AT REST is when both operators have nothing left to do. CPU and reconciles are those of
dynamo-operator. WRITTEN is what the API server counted, of everybody but for leases and nodes.`

func deploymentsCommand() *cobra.Command {
	options := load.DeploymentsOptions{Progress: os.Stderr}
	asJSON := false
	command := &cobra.Command{
		Use: "deployments", Short: "Measure dynamo-operator: start of a deployment, writes, memory", Long: deploymentsExplanation, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return measureDeployments(cmd, options, asJSON) },
	}
	flags := command.Flags()
	flags.StringVar(&options.Dir, "dir", "", "state directory of the dev cluster (default: a temporary one)")
	flags.IntVar(&options.Deployments, "deployments", 500, "small deployments; 0 leaves them out")
	flags.IntVar(&options.Services, "services", 10, "services of the deployment whose start is measured")
	flags.IntVar(&options.Repeats, "repeats", 5, "how often that is created")
	flags.DurationVar(&options.Quiet, "quiet", time.Minute, "how long the steady state is looked at")
	flags.StringVar(&options.Program, "program", "", "binary of the operator (default bin/dynamo-operator)")
	flags.DurationVar(&options.Patience, "patience", 10*time.Minute, "bound of each wait")
	flags.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return command
}

func measureDeployments(cmd *cobra.Command, options load.DeploymentsOptions, asJSON bool) error {
	dir, remove, err := stateDir(options.Dir)
	if err != nil {
		return err
	}
	defer remove()
	options.Dir = dir
	report, err := load.MeasureDeployments(cmd.Context(), options)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), report)
	}
	return report.Print(cmd.OutOrStdout())
}

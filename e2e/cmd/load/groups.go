package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/load"
)

const groupsExplanation = `Brings up a dev cluster with podgrouper and no scheduler, so that no pod gets a node after it
is grouped.

job     A Job is created; kube-controller-manager makes its pods. The clock runs from the request until the last pod is
        there, and until the last one names its PodGroup.
quiet   Nothing happens: what is written, and what podgrouper computes.
beside  There are pods of many Jobs, which no controller acts on: the memory of podgrouper once all are grouped, and
        after its restart, and its writes then.

WRITTEN is what the API server counted, for all programs, without leases and nodes.`

func groupsCommand() *cobra.Command {
	options := load.GroupsOptions{Common: load.Common{Patience: 20 * time.Minute}}
	command := measurement(cobra.Command{
		Use: "groups", Short: "Measure podgrouper: how soon pods are grouped, writes, memory", Long: groupsExplanation,
	}, &options.Common, load.GroupsParts,
		func(ctx context.Context) (report, error) { return load.MeasureGroups(ctx, options) })
	flags := command.Flags()
	flags.IntVar(&options.Pods, "pods", 1000, "pods of the Job")
	flags.IntVar(&options.Repeats, "repeats", 3, "how many Jobs are created, one after the other")
	flags.DurationVar(&options.Quiet, "quiet", time.Minute, "how long the part quiet looks")
	flags.IntVar(&options.Standing, "standing", 50000, "pods in the part beside")
	flags.IntVar(&options.OfJob, "of-job", 500, "how many of them a Job has")
	return command
}

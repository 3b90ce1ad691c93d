package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/load"
)

const groupsExplanation = `Brings up a dev cluster with podgrouper and no scheduler, so that pods wait on no node once they are grouped.

job     A Job is created; kube-controller-manager makes its pods. The clock runs from the request until the last pod is there, and until the
        last one names its PodGroup.
quiet   Nothing happens: what is written, and what podgrouper computes.
beside  Pods of many Jobs stand, which no controller acts on: the memory of podgrouper once all are grouped, and after it was started anew, and
        what it writes then.

WRITTEN is what the API server counted, of everybody but for leases and nodes.`

func groupsCommand() *cobra.Command {
	options := load.GroupsOptions{Progress: os.Stderr, Parts: load.GroupsParts}
	asJSON := false
	command := &cobra.Command{
		Use: "groups", Short: "Measure podgrouper: how soon pods are grouped, writes, memory", Long: groupsExplanation, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return measureGroups(cmd, options, asJSON) },
	}
	flags := command.Flags()
	flags.StringVar(&options.Dir, "dir", "", "state directory of the dev cluster (default: a temporary one)")
	flags.Func("parts", "what to measure (default job,quiet,beside)", func(value string) error {
		options.Parts = nil
		for name := range strings.SplitSeq(value, ",") {
			if !slices.Contains(load.GroupsParts, load.GroupsPart(name)) {
				return fmt.Errorf("%q is not one of %v", name, load.GroupsParts)
			}
			options.Parts = append(options.Parts, load.GroupsPart(name))
		}
		return nil
	})
	flags.IntVar(&options.Pods, "pods", 1000, "pods of the Job")
	flags.IntVar(&options.Repeats, "repeats", 3, "how many Jobs are created, one after the other")
	flags.DurationVar(&options.Quiet, "quiet", time.Minute, "how long the part quiet looks")
	flags.IntVar(&options.Standing, "standing", 50000, "pods in the part beside")
	flags.IntVar(&options.OfJob, "of-job", 500, "how many of them a Job has")
	flags.StringVar(&options.Program, "program", "", "binary of podgrouper (default bin/podgrouper)")
	flags.StringVar(&options.Profile, "profile", "", "directory for CPU and memory profiles of podgrouper")
	flags.DurationVar(&options.Patience, "patience", 20*time.Minute, "bound of each wait")
	flags.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return command
}

func measureGroups(cmd *cobra.Command, options load.GroupsOptions, asJSON bool) error {
	dir, remove, err := stateDir(options.Dir)
	if err != nil {
		return err
	}
	defer remove()
	options.Dir = dir
	report, err := load.MeasureGroups(cmd.Context(), options)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), report)
	}
	return report.Print(cmd.OutOrStdout())
}

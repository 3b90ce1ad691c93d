package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/devcluster"
)

func statusCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the processes of a cluster and their health; it fails when one does not work",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			processes, err := devcluster.Status(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			return printStatus(cmd.OutOrStdout(), processes)
		},
	}
}

func printStatus(out io.Writer, processes []devcluster.ProcessStatus) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "PROCESS\tPID\tHEALTH")
	broken := 0
	for _, process := range processes {
		health := "ok"
		if process.Problem != nil {
			health = fmt.Sprintf("%v, see %s", process.Problem, process.Log)
			broken++
		}
		fmt.Fprintf(table, "%s\t%d\t%s\n", process.Name, process.PID, health)
	}
	if err := table.Flush(); err != nil || broken == 0 {
		return err
	}
	return fmt.Errorf("%d of %d processes do not work", broken, len(processes))
}

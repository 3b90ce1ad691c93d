package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/devcluster"
)

func statusCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the processes of a cluster, their health and memory, and its nodes",
		Long: "Shows the processes of a cluster, their health and memory, and its nodes. It fails when something " +
			"does not work.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := devcluster.ReadStatus(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			if err := printStatus(cmd.OutOrStdout(), status); err != nil {
				return err
			}
			return verdict(status)
		},
	}
}

func verdict(status devcluster.Status) error {
	broken := 0
	for _, process := range status.Processes {
		if process.Problem != nil {
			broken++
		}
	}
	switch {
	case status.Phase == devcluster.Starting:
		return errors.New("the cluster is still starting")
	case status.Phase == devcluster.BrokenOff:
		return errors.New("the start broke off: `devcluster down` cleans up")
	case broken > 0:
		return fmt.Errorf("%d of %d processes do not work", broken, len(status.Processes))
	default:
		return nil
	}
}

func printStatus(out io.Writer, status devcluster.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "PROCESS\tVERSION\tPID\tMEMORY\tHEALTH")
	var total int64
	for _, process := range status.Processes {
		pid, memory, health := "-", "-", "ok"
		if process.PID != 0 {
			pid, memory = strconv.Itoa(process.PID), mebibytes(process.Memory)
		}
		if process.Problem != nil {
			health = fmt.Sprintf("%v, see %s", process.Problem, process.Log)
		}
		total += process.Memory
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", process.Name, process.Version, pid, memory, health)
	}
	fmt.Fprintf(table, "together\t\t\t%s\t\n", mebibytes(total))
	if err := table.Flush(); err != nil {
		return err
	}
	kubernetes := status.Kubernetes
	if kubernetes == "" {
		kubernetes = "does not answer"
	}
	_, err := fmt.Fprintf(out, "\nKubernetes %s, %d of %d nodes ready, up for %s\nexport KUBECONFIG=%s\n",
		kubernetes, status.ReadyNodes, status.Nodes, time.Since(status.Started).Round(time.Second), status.Kubeconfig)
	return err
}

func mebibytes(bytes int64) string {
	return fmt.Sprintf("%d MiB", bytes/(1<<20))
}

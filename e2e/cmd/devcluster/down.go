package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/devcluster"
)

func downCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End a cluster, or what a crash has left of one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := devcluster.Down(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			if !found {
				fmt.Fprintf(cmd.OutOrStdout(), "There is no dev cluster in %s.\n", *dir)
				return nil
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The cluster is down.")
			return nil
		},
	}
}

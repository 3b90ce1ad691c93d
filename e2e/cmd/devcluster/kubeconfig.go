package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/devcluster"
)

func kubeconfigCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:     "kubeconfig",
		Short:   "Print the path of the administrator's kubeconfig",
		Example: "  export KUBECONFIG=$(bin/devcluster kubeconfig)",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := devcluster.Kubeconfig(*dir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), file)
			return err
		},
	}
}

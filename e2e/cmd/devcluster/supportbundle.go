package main

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/shared/kubeconfig"
	"packtree.dev/shared/supportbundle"
)

func supportBundleCommand(dir *string) *cobra.Command {
	return supportbundle.CommandFor(func() (*rest.Config, error) {
		file, err := devcluster.Kubeconfig(*dir)
		if err != nil {
			return nil, err
		}
		return kubeconfig.Load(file, "")
	})
}

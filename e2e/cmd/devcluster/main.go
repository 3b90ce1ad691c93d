// Command devcluster runs a Kubernetes control plane with Packtree on this machine.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/shared/render"
	"packtree.dev/shared/version"
)

func main() { os.Exit(render.ExecuteUntilStopped(newCommand())) }

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "devcluster",
		Short: "A Kubernetes control plane with Packtree on this machine",
		Long: `A real Kubernetes control plane on this machine, without containers: etcd, kube-apiserver,
kube-controller-manager and KWOK, which simulates nodes and kubelets. Packtree's components are installed from their
charts and run as local processes under their own service accounts. Everything listens on 127.0.0.1 alone.`,
		Version: version.String(),
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	dir := root.PersistentFlags().String("dir", devcluster.DefaultDir,
		"state directory; it is the cluster's name, so to speak")
	root.AddCommand(upCommand(dir), downCommand(dir), statusCommand(dir), kubeconfigCommand(dir))
	return root
}

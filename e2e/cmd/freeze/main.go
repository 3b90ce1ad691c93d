// Freeze stores the objects that a release leaves in a cluster, for the tests of later releases.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/shared/render"
)

func main() {
	os.Exit(render.ExecuteUntilStopped(newCommand()))
}

func newCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "freeze vX.Y.Z",
		Short: "Store what a release of the kinds leaves in a cluster: its CRDs, and objects as its programs keep them",
		Long: `Brings up a dev cluster of its own, runs e2e/compatibility/testdata/today/workloads.yaml there until
every workload that fits runs, and stores the CRDs, the nodes and all objects, statuses included, in
e2e/compatibility/testdata/vX.Y.Z. From then on the tests compare every later version with them.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			root, err := devcluster.Repository()
			if err != nil {
				return err
			}
			testdata := filepath.Join(root, "e2e", "compatibility", "testdata")
			if err := freeze(command.Context(), testdata, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "stored in %s: commit it with the changelog of the release\n",
				filepath.Join("e2e", "compatibility", "testdata", args[0]))
			return nil
		},
	}
}

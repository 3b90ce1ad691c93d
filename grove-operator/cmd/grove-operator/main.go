// Command grove-operator runs PodCliqueSets: it creates their gangs and pods, and prints without a cluster what it
// would create.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"packtree.dev/shared/render"
	"packtree.dev/shared/supportbundle"
	"packtree.dev/shared/version"
)

const program = "grove-operator"

func main() {
	os.Exit(render.Execute(rootCommand()))
}

func rootCommand() *cobra.Command {
	root := runCommand()
	root.Version = version.String()
	root.AddCommand(renderCommand(), supportbundle.Command())
	return root
}

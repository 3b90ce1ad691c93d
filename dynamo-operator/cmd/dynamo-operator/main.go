// Command dynamo-operator carries out DynamoGraphDeployments on Grove. Its subcommand render answers offline what one
// becomes.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"packtree.dev/dynamo-operator/internal/offline"
	"packtree.dev/shared/render"
)

const program = "dynamo-operator"

func main() {
	os.Exit(render.Execute(rootCommand()))
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{Use: program}
	root.AddCommand(render.Command(program, "print what DynamoGraphDeployments become", "x", offline.Render))
	return root
}

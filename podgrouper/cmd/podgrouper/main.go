// Command podgrouper gathers pods into PodGroups, in a cluster or, with the subcommand render, from manifests.
package main

import (
	"os"

	"packtree.dev/shared/render"
)

func main() {
	os.Exit(render.Execute(rootCommand()))
}

// The command kai-topology-plugin is kube-scheduler with gangs and topologies: see docs/kai-topology-plugin.md.
package main

import (
	"os"

	"packtree.dev/kai-topology-plugin/internal/schedulerserver"
	"packtree.dev/shared/render"
)

func main() {
	os.Exit(render.Execute(schedulerserver.Command()))
}

// The command kai-topology-plugin is kube-scheduler with gangs and topologies, and decides, verifies and simulates
// without a cluster: see docs/kai-topology-plugin.md.
package main

import (
	"os"

	"packtree.dev/kai-topology-plugin/internal/offline/check"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	"packtree.dev/kai-topology-plugin/internal/offline/simulate"
	"packtree.dev/kai-topology-plugin/internal/scheduler/schedulerserver"
	"packtree.dev/shared/render"
	"packtree.dev/shared/supportbundle"
)

func main() {
	command := schedulerserver.Command()
	command.AddCommand(place.Command(), check.Command(), simulate.Command(), supportbundle.Command())
	os.Exit(render.Execute(command))
}

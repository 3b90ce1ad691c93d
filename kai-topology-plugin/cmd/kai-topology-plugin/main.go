// The command kai-topology-plugin is kube-scheduler with gangs and topologies: see docs/kai-topology-plugin.md. Under
// the name kubectl-packtree it is a kubectl plugin: see docs/kubectl-packtree.md.
package main

import (
	"os"

	"packtree.dev/kai-topology-plugin/internal/kubectlpacktree"
	"packtree.dev/kai-topology-plugin/internal/schedulerserver"
	"packtree.dev/shared/render"
)

func main() {
	if kubectlpacktree.Invoked(os.Args[0]) {
		os.Exit(render.Execute(kubectlpacktree.RootCommand()))
	}
	os.Exit(render.Execute(schedulerserver.Command()))
}

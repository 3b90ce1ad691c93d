// The command kubectl-packtree is a kubectl plugin that says where gangs stand and why others wait: see
// docs/kubectl-packtree.md.
package main

import (
	"os"

	"packtree.dev/kai-topology-plugin/internal/cli/kubectlpacktree"
	"packtree.dev/shared/render"
)

func main() { os.Exit(render.Execute(kubectlpacktree.Command())) }

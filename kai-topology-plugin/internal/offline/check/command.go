// Package check verifies an answer of place against the manifests alone: placements by what a placement must hold to,
// and claims that there is none by their certificates. Of the engine that gave the answer it uses nothing.
package check

import (
	"fmt"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/offline/place"
	"packtree.dev/shared/render"
)

// Command returns the subcommand `check`.
func Command() *cobra.Command {
	var files []string
	command := &cobra.Command{
		Use:   "check -f INPUT [-f INPUT ...] -f ANSWER",
		Short: "Verify an answer of place against the manifests alone",
		Long: `check verifies what place -o json said about PodGroups. The last FILE is the answer, the others are the
manifests that place was given. It goes through the PodGroups in the order of the answer, each on what the placements
before it left:

  Placed      every pod is on a node that kube-scheduler's filters accept and that has room; required levels, anchors
              and minima hold; the domains named are those where the pods stand
  Infeasible  the certificate (place --certificate) proves that no placement exists
  Incomplete, Invalid  the PodGroup and its pods are so
  Unknown     claims nothing

It shares no code with the search. What the filters say of a node (selectors, affinity, taints, cordons, spread) is
asked of the same offline filters as for place: volumes and device claims need a cluster and are not looked at.

Exit codes: 0 everything holds, 3 something does not (one line each), 1 the input is unusable, 2 wrong flags.`,
		Example: `  kai-topology-plugin place -f cluster.yaml -f gang.yaml --certificate > answer.json
  kai-topology-plugin check -f cluster.yaml -f gang.yaml -f answer.json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if len(files) < 2 {
				return command.FlagErrorFunc()(command,
					fmt.Errorf("-f names the manifests first and the answer last, so there are two at least"))
			}
			return run(command, files[:len(files)-1], files[len(files)-1])
		},
	}
	render.BindFiles(command, &files)
	const inputs = "file or directory with manifests, or - for standard input; repeated; the last one is the answer"
	command.Flags().Lookup("filename").Usage = inputs
	return command
}

func run(command *cobra.Command, files []string, answer string) error {
	cluster, err := place.Read(command, files)
	if err != nil {
		return err
	}
	given, err := readAnswer(answer, command.InOrStdin())
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	faults, err := verify(command.Context(), cluster, given)
	if err != nil {
		return fmt.Errorf("checking: %w", err)
	}
	for _, fault := range faults {
		fmt.Fprintln(command.OutOrStdout(), fault)
	}
	if len(faults) > 0 {
		return render.NotAll("the answer does not hold")
	}
	return nil
}

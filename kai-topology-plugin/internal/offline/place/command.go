// Package place is the offline face of the scheduler: it decides the PodGroups of some manifests as the scheduler
// would, with the scheduler's own code, and without a cluster.
package place

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/render"
)

// Printer prints what was decided about the PodGroups of an inventory.
type Printer func(io.Writer, *inventory.Inventory, *Result) error

// Printers are the formats of -o.
var Printers = map[string]Printer{
	"json": printJSON,
	"tree": printTree,
	"yaml": printYAML,
}

// Command returns the subcommand `place`.
func Command() *cobra.Command {
	var files []string
	var output string
	var placement string
	var options packing.Options
	var certified bool
	command := &cobra.Command{
		Use: "place -f FILE [-f FILE ...] [-o json|tree|yaml] [--placement Pack|Spread] [--search-budget N] " +
			"[--certificate]",
		Short: "Decide PodGroups from manifests, without a cluster",
		Long: `place reads Node, Topology, PodGroup and Pod manifests, ignores other kinds, and decides every PodGroup
in the order in which the scheduler would: priority, creation time, name; each on what the earlier ones left. A Pod with
spec.nodeName is running and uses capacity, the others are pending.

It uses kube-scheduler's own filters for node selectors, affinity, taints, cordons, host ports, spread and resources.
Volumes and device claims need a cluster and are not looked at.

Exit codes: 0 every PodGroup is placed, 3 some are not, 1 the input was rejected, 2 wrong flags.`,
		Example: `  kai-topology-plugin place -f cluster.yaml -f gang.yaml -o tree
  cat *.yaml | kai-topology-plugin place -f -`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			printer, ok := Printers[output]
			if !ok {
				return usage(command, "-o is json, tree or yaml, not %q", output)
			}
			if options.Budget < 0 {
				return usage(command, "--search-budget is a number of steps, at least 1, or 0 for the default, not %d",
					options.Budget)
			}
			options.Placement = packing.Placement(placement)
			if err := options.Check(); err != nil {
				return usage(command, "--placement: %v", err)
			}
			return run(command, files, options, func(out io.Writer, read *inventory.Inventory, decided *Result) error {
				if !certified {
					decided.DropCertificates()
				}
				return printer(out, read, decided)
			})
		},
	}
	render.BindFiles(command, &files)
	command.Flags().StringVarP(&output, "output", "o", "json",
		"json, tree (for people) or yaml (the pods that have a node)")
	command.Flags().IntVar(&options.Budget, "search-budget", 0,
		"how many steps the search may take for one PodGroup; 0 is the scheduler's own bound")
	command.Flags().BoolVar(&certified, "certificate", false,
		"add to each Infeasible, in JSON, what proves it, for check to verify")
	BindPlacement(command, &placement)
	return command
}

// BindPlacement makes the scheduler's argument placement a flag.
func BindPlacement(command *cobra.Command, placement *string) {
	command.Flags().StringVar(placement, "placement", string(packing.Pack),
		"the domains of gangs that do not say it themselves: Pack (the tightest that fits) or Spread (the emptiest), "+
			"as the scheduler is configured")
}

// usage is a mistake in a flag's value, treated like one that the flags themselves find.
func usage(command *cobra.Command, format string, args ...any) error {
	return command.FlagErrorFunc()(command, fmt.Errorf(format, args...))
}

// Read reads the manifests that a command names. What is wrong with them has been printed.
func Read(command *cobra.Command, files []string) (*inventory.Inventory, error) {
	documents, err := render.Input(command, files)
	if err != nil {
		return nil, err
	}
	read, findings := inventory.Read(documents)
	return read, render.Reject(command, findings)
}

func run(command *cobra.Command, files []string, options packing.Options, printer Printer) error {
	read, err := Read(command, files)
	if err != nil {
		return err
	}
	read.Placement = options.Placement
	if len(read.PodGroups) == 0 {
		fmt.Fprintln(command.ErrOrStderr(), "place: the input has no PodGroup, so there is nothing to decide")
	}
	none := func(turns.Turn) bool { return false }
	decided, err := Decide(command.Context(), read, turns.In(read), options, none)
	if err != nil {
		return fmt.Errorf("deciding: %w", err)
	}
	if err := printer(command.OutOrStdout(), read, decided); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return decided.Err()
}

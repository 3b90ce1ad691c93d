package kubectlpacktree

import (
	"slices"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/live"
	"packtree.dev/kai-topology-plugin/internal/simulate"
)

// simulateCommand is the simulation of the offline command, on the cluster as it is.
func (p *plugin) simulateCommand() *cobra.Command {
	from := &source{plugin: p}
	return simulate.CommandOn(simulate.Source{
		Use:   "simulate [-f DUMP]",
		Bind:  from.bind,
		Stdin: func() bool { return slices.Contains(from.files, "-") },
		Read: func(command *cobra.Command, instead ...string) (*inventory.Inventory, error) {
			if len(instead) > 0 {
				return readFiles(command, instead)
			}
			read, err := from.read(command, live.Wanted{})
			if err != nil {
				return nil, err
			}
			note(command, read.Notes)
			return read.Inventory, nil
		},
	})
}

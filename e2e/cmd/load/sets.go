package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/load"
)

const setsExplanation = `Brings up a dev cluster with grove-operator and no scheduler, so that pods wait on no node once their gates are open.

scale    One set is created, scaled to zero and back. The clock runs from the request until the last pod has lost the operator's gate, or is gone;
         AT REST is when the operator has nothing left to do and all statuses are written.
steady   Nothing happens: what is written, and what the operator computes.
restart  The operator is started anew beside many pods, and again with as many pods of nobody's.
many     Small sets are created at once: how long each reconcile takes, by controller-runtime's histogram, when there is more to do than can be done.
life     The small sets stand, and once a second one of them is edited, or it or a part of it is scaled out or in: the same histogram. No pod
         has a node, so that none becomes ready.

topologies  Many small sets use one ClusterTopology. Levels of another one change; a level of theirs goes and returns, and the clock runs until the
         conditions of all sets tell, as a watch sees them; then their topology is deleted: how long the API server takes to answer.

WRITTEN is what the API server counted, of everybody but for leases and nodes.`

func setsCommand() *cobra.Command {
	options := load.SetsOptions{Progress: os.Stderr, Parts: load.SetsParts}
	asJSON := false
	command := &cobra.Command{
		Use: "sets", Short: "Measure grove-operator: pods a second, writes, memory, reconciles", Long: setsExplanation, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return measureSets(cmd, options, asJSON) },
	}
	flags := command.Flags()
	flags.StringVar(&options.Dir, "dir", "", "state directory of the dev cluster (default: a temporary one)")
	flags.Func("parts", "what to measure (default scale,steady,restart,many,life,topologies)", func(value string) error {
		options.Parts = nil
		for name := range strings.SplitSeq(value, ",") {
			if !slices.Contains(load.SetsParts, load.SetsPart(name)) {
				return fmt.Errorf("%q is not one of %v", name, load.SetsParts)
			}
			options.Parts = append(options.Parts, load.SetsPart(name))
		}
		return nil
	})
	flags.IntVar(&options.Replicas, "replicas", 500, "replicas, of two pods each, of the large set")
	flags.DurationVar(&options.Quiet, "quiet", time.Minute, "how long the part steady looks")
	flags.IntVar(&options.Pods, "pods", 10000, "pods of sets at the restart")
	flags.IntVar(&options.Foreign, "foreign", 10000, "pods of nobody's at the second restart; 0 leaves it out")
	flags.IntVar(&options.Sets, "sets", 200, "small sets, of six pods each")
	flags.IntVar(&options.Changes, "changes", 63, "changes of small sets in the part life, one a second; rounded up to whole rounds of seven")
	flags.IntVar(&options.Users, "users", 1000, "sets, of one pod each, that use one ClusterTopology")
	flags.IntVar(&options.QPS, "qps", 0, "runtimeClientConnection.qps of the operator (default: its own)")
	flags.IntVar(&options.Burst, "burst", 0, "runtimeClientConnection.burst of the operator, with --qps")
	flags.IntVar(&options.Syncs, "syncs", 0, "controllers.<each>.concurrentSyncs of the operator (default: its own)")
	flags.StringVar(&options.Program, "program", "", "binary of the operator (default bin/grove-operator)")
	flags.StringVar(&options.Profile, "profile", "", "directory for CPU profiles of the operator")
	flags.DurationVar(&options.Patience, "patience", 10*time.Minute, "bound of each wait")
	flags.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return command
}

func measureSets(cmd *cobra.Command, options load.SetsOptions, asJSON bool) error {
	dir, remove, err := stateDir(options.Dir)
	if err != nil {
		return err
	}
	defer remove()
	options.Dir = dir
	report, err := load.MeasureSets(cmd.Context(), options)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), report)
	}
	return report.Print(cmd.OutOrStdout())
}

// stateDir returns the directory that is given, or a temporary one.
func stateDir(given string) (dir string, remove func(), err error) {
	if given != "" {
		return given, func() {}, nil
	}
	directory, err := os.MkdirTemp("", "packtree-load-")
	return filepath.Join(directory, "cluster"), func() { os.RemoveAll(directory) }, err
}

func printJSON(out io.Writer, report any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/render"
)

// Command returns the subcommand `simulate`.
func Command() *cobra.Command {
	var files []string
	var jobs, output, placement, decider string
	var until float64
	var seed uint64
	command := &cobra.Command{
		Use:   "simulate -f CLUSTER [-f FILE ...] --jobs FILE [--until SECONDS] [--decider CMD] [-o json|csv]",
		Short: "Run a stream of gangs on a cluster in virtual time",
		Long: `simulate reads Node and Topology manifests, and PodGroups and Pods that stand already and stay, and runs a stream of gangs
on them: they arrive, wait, run for their duration and end; nodes fail and return. Order, overtaking, kept room, preemption
and placement are decided by the scheduler's own code.

A stream is a file of JSON lines in the order of "at", in seconds:
  {"at": 0, "name": "g1", "duration": 3600, "pods": 16, "requests": {"nvidia.com/gpu": "8"},
   "topology": "net", "required": "example.com/rack", "preferred": "", "priority": 0}
  {"at": 5, "name": "g2", "duration": 60, "podGroup": {…}, "pods": [{…}]}     whole manifests
  {"at": 100, "node": "n1", "down": true}                                     false: the node is well again
A gang without a duration runs for ever. (Each line is one line in the file.)

A gang that loses a node goes on if other nodes take its pods at once, or if it has enough without them; else all of its
pods leave, and it runs what is left of its duration when it fits again. So does a gang that is preempted.

-o json prints
  gangs[]{name, arrived, started, ended, state, nodes{NODE: pods}, domains{LEVEL: count}, leastDomains{LEVEL: count},
          preemptions, moves}, capacity{RESOURCE: amount}, series[]{at, used, waiting, running}, device, until,
  idle{noDemand, filters, reserved, unavoidable, avoidable}
where idle is in resource-seconds of the device that the stream asks for most; used and idle add up to what nodes that are
not down offer. CPU is in millicores. -o csv prints a line per gang.

A decider is a program that decides in the scheduler's place: it gets a JSON line for each decision on standard input,
  {"cluster": {"nodes": […], "topologies": […], "pods": […]}, "changes": […], "gang": {"podGroup": {…}, "pods": […]}}
(cluster in the first line only; changes since the last one: {"pod": "ns/name", "node": "n1"}, where an empty node means that
the pod is gone, and {"node": "n1", "down": true}), and answers with one: {"assignments": {"POD": "NODE"}} or
{"refused": "reason"}. A placement that breaks the gang's constraints or a node's capacity ends the simulation.

The same input gives the same bytes. Exit codes: 0 simulated, 1 the input was rejected, 2 wrong flags.`,
		Example: `  kai-topology-plugin simulate -f cluster.yaml --jobs week.jsonl -o json | jq .idle
  kai-topology-plugin simulate -f cluster.yaml --jobs - --until 86400 -o csv < day.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options := packing.Options{Placement: packing.Placement(placement)}
			if err := options.Check(); err != nil {
				return usage(command, "--placement: %v", err)
			}
			switch {
			case output != "json" && output != "csv":
				return usage(command, "-o is json or csv, not %q", output)
			case jobs == "":
				return usage(command, "--jobs is missing: the file with the stream, - for standard input")
			case !(until >= 0):
				return usage(command, "--until is a number of seconds, not %v", until)
			}
			cluster, stream, err := read(command, files, jobs)
			if err != nil {
				return err
			}
			cluster.Placement = options.Placement
			result, err := simulateBy(command, decider, cluster, stream, Options{Until: until, Progress: progress(command.ErrOrStderr())})
			if err != nil {
				return err
			}
			fmt.Fprintf(command.ErrOrStderr(), "simulated %.0f seconds: %s\n", result.Until, result.Summary())
			if output == "csv" {
				return result.CSV(command.OutOrStdout())
			}
			return json.NewEncoder(command.OutOrStdout()).Encode(result)
		},
	}
	render.BindFiles(command, &files)
	flags := command.Flags()
	flags.StringVar(&jobs, "jobs", "", "the stream, JSON lines; - for standard input")
	flags.Float64Var(&until, "until", 0, "end at this second; 0 goes on until nothing more happens")
	flags.Uint64Var(&seed, "seed", 0, "for streams that draw numbers; those of files do not")
	flags.StringVar(&decider, "decider", "", "a program, run by sh -c, that decides in the scheduler's place")
	flags.StringVarP(&output, "output", "o", "json", "json, or csv with a line per gang")
	flags.StringVar(&placement, "placement", string(packing.Pack), "the domains of gangs that do not say it themselves: Pack or Spread")
	return command
}

// usage is a mistake in a flag's value, treated like one that the flags themselves find.
func usage(command *cobra.Command, format string, args ...any) error {
	return command.FlagErrorFunc()(command, fmt.Errorf(format, args...))
}

func read(command *cobra.Command, files []string, jobs string) (*inventory.Inventory, []Event, error) {
	documents, err := render.Input(command, files)
	if err != nil {
		return nil, nil, err
	}
	cluster, findings := inventory.Read(documents)
	if err := render.Reject(command, findings); err != nil {
		return nil, nil, err
	}
	from := command.InOrStdin()
	if jobs != "-" {
		file, err := os.Open(jobs)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	stream, err := Read(jobs, from, cluster)
	return cluster, stream, err
}

// simulateBy runs the simulation with a program that decides, if one is named.
func simulateBy(command *cobra.Command, program string, cluster *inventory.Inventory, stream []Event, options Options) (*Result, error) {
	if program == "" {
		return Run(command.Context(), cluster, stream, options)
	}
	decider, err := startProgram(command.Context(), program, command.ErrOrStderr(), cluster)
	if err != nil {
		return nil, err
	}
	options.Decider = decider
	result, err := Run(command.Context(), cluster, stream, options)
	if stopped := decider.stop(); err == nil {
		err = stopped
	}
	return result, err
}

// progress tells now and then how far the simulation is.
func progress(w io.Writer) func(at float64, done, of int) {
	last := time.Now()
	return func(at float64, done, of int) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			fmt.Fprintf(w, "second %.0f, %d of %d lines\n", at, done, of)
		}
	}
}

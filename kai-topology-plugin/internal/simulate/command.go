package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/render"
)

// Source is where the cluster is read that a stream runs on.
type Source struct {
	// Use is the usage of the command that reads it, and Bind gives it its flags.
	Use  string
	Bind func(command *cobra.Command)
	// Read returns the cluster; standard input is taken if Stdin says so.
	Read  func(command *cobra.Command) (*inventory.Inventory, error)
	Stdin func() bool
}

// Command returns the subcommand `simulate` for manifests.
func Command() *cobra.Command {
	var files []string
	return CommandOn(Source{
		Use:   "simulate -f CLUSTER [-f FILE ...]",
		Bind:  func(command *cobra.Command) { render.BindFiles(command, &files) },
		Stdin: func() bool { return slices.Contains(files, "-") },
		Read: func(command *cobra.Command) (*inventory.Inventory, error) {
			documents, err := render.Input(command, files)
			if err != nil {
				return nil, err
			}
			cluster, findings := inventory.Read(documents)
			return cluster, render.Reject(command, findings)
		},
	})
}

const long = `simulate reads Node and Topology manifests, and PodGroups and Pods that stand already and stay, and runs a stream of gangs
on them: they arrive, wait, run for their duration and end; nodes fail and return. Order, overtaking, kept room, preemption
and placement are decided by the scheduler's own code.

generate draws a stream. A stream is a file of JSON lines in the order of "at", in seconds:
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
not down offer. -o csv prints a line per gang, -o html a page with plots that needs no other file.

A decider is a program that decides in the scheduler's place: it gets a JSON line for each decision on standard input,
  {"cluster": {"nodes": […], "topologies": […], "pods": […]}, "changes": […], "gang": {"podGroup": {…}, "pods": […]}}
(cluster in the first line only; changes since the last one: {"pod": "ns/name", "node": "n1"}, where an empty node means that
the pod is gone, and {"node": "n1", "down": true}), and answers with one: {"assignments": {"POD": "NODE"}} or
{"refused": "reason"}. A placement that breaks the gang's constraints or a node's capacity ends the simulation.

The same input gives the same bytes. Exit codes: 0 simulated, 1 the input was rejected, 2 wrong flags.`

const example = `  kai-topology-plugin simulate -f cluster.yaml --jobs week.jsonl -o json | jq .idle
  kai-topology-plugin simulate -f cluster.yaml --jobs - --until 86400 -o csv < day.jsonl
  kai-topology-plugin simulate -f cluster.yaml --jobs week.jsonl -o html > week.html`

// CommandOn returns the subcommand `simulate` for a cluster.
func CommandOn(source Source) *cobra.Command {
	var asked asked
	command := &cobra.Command{
		Use:     source.Use + " --jobs FILE [--until SECONDS] [--decider CMD] [-o json|csv|html]",
		Short:   "Run a stream of gangs on a cluster in virtual time",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := asked.check(source); err != nil {
				return command.FlagErrorFunc()(command, err)
			}
			return asked.run(command, source)
		},
	}
	source.Bind(command)
	flags := command.Flags()
	flags.StringVar(&asked.jobs, "jobs", "", "the stream, JSON lines; - for standard input")
	flags.Float64Var(&asked.until, "until", 0, "the last second; without it the simulation goes on until nothing more happens")
	flags.Uint64Var(&asked.seed, "seed", 0, "has no effect: nothing is drawn here; generate draws streams")
	flags.StringVar(&asked.decider, "decider", "", "a program, run by sh -c, that decides in the scheduler's place")
	flags.StringVarP(&asked.output, "output", "o", "json", "json, csv with a line per gang, or html: a page with plots")
	flags.StringVar(&asked.placement, "placement", string(packing.Pack), "the domains of gangs that do not say it themselves: Pack or Spread")
	command.AddCommand(generateCommand(source))
	return command
}

// asked are the flags.
type asked struct {
	jobs, output, placement, decider string
	until                            float64
	seed                             uint64
}

// check returns which flag is wrong.
func (a *asked) check(source Source) error {
	options := packing.Options{Placement: packing.Placement(a.placement)}
	if err := options.Check(); err != nil {
		return fmt.Errorf("--placement: %w", err)
	}
	switch {
	case formats[a.output] == nil:
		return fmt.Errorf("-o is json, csv or html, not %q", a.output)
	case a.jobs == "":
		return errors.New("--jobs is missing: the file with the stream, - for standard input")
	case a.jobs == "-" && source.Stdin():
		return errors.New("-f and --jobs cannot both read standard input")
	case !(a.until >= 0 && a.until <= maxSeconds):
		return fmt.Errorf("--until is a number of seconds from 0 to %g, not %v", maxSeconds, a.until)
	}
	return nil
}

func (a *asked) run(command *cobra.Command, source Source) error {
	cluster, err := source.Read(command)
	if err != nil {
		return err
	}
	stream, err := readJobs(command, a.jobs, cluster)
	if err != nil {
		return err
	}
	cluster.Placement = packing.Placement(a.placement)
	options := Options{Progress: progress(command.ErrOrStderr())}
	if command.Flags().Changed("until") {
		options.Until = &a.until
	}
	ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	result, err := simulateBy(ctx, command.ErrOrStderr(), a.decider, cluster, stream, options)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(command.ErrOrStderr(), "simulated %.0f seconds: %s\n", result.Until, result.Summary())
	return formats[a.output](result, command.OutOrStdout())
}

var formats = map[string]func(*Result, io.Writer) error{"json": (*Result).JSON, "csv": (*Result).CSV, "html": (*Result).HTML}

// usage is a mistake in a flag's value, treated like one that the flags themselves find.
func usage(command *cobra.Command, format string, args ...any) error {
	return command.FlagErrorFunc()(command, fmt.Errorf(format, args...))
}

func readJobs(command *cobra.Command, jobs string, cluster *inventory.Inventory) ([]Event, error) {
	from := command.InOrStdin()
	if jobs != "-" {
		file, err := os.Open(jobs)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	stream, err := Read(jobs, from, cluster)
	if err != nil {
		fmt.Fprintln(command.ErrOrStderr(), err)
		return nil, rejected{err}
	}
	return stream, nil
}

// rejected is a stream whose faults have been printed, each in the form that editors and programs read.
type rejected struct{ error }

// ExitCode implements render.Coder.
func (rejected) ExitCode() int { return render.ExitRejected }

// simulateBy runs the simulation with a program that decides, if one is named.
func simulateBy(
	ctx context.Context, stderr io.Writer, program string, cluster *inventory.Inventory, stream []Event, options Options,
) (*Result, error) {
	if program == "" {
		return Run(ctx, cluster, stream, options)
	}
	decider, err := startProgram(ctx, program, stderr, cluster)
	if err != nil {
		return nil, err
	}
	options.Decider = decider
	result, err := Run(ctx, cluster, stream, options)
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

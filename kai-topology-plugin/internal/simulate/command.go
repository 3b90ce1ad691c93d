package simulate

import (
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
	// Read returns the cluster, or that in some files; standard input is taken if Stdin says so.
	Read  func(command *cobra.Command, instead ...string) (*inventory.Inventory, error)
	Stdin func() bool
}

// Command returns the subcommand `simulate` for manifests.
func Command() *cobra.Command {
	var files []string
	return CommandOn(Source{
		Use:   "simulate -f CLUSTER [-f FILE ...]",
		Bind:  func(command *cobra.Command) { render.BindFiles(command, &files) },
		Stdin: func() bool { return slices.Contains(files, "-") },
		Read: func(command *cobra.Command, instead ...string) (*inventory.Inventory, error) {
			from := files
			if len(instead) > 0 {
				from = instead
			}
			documents, err := render.Input(command, from)
			if err != nil {
				return nil, err
			}
			cluster, findings := inventory.Read(documents)
			return cluster, render.Reject(command, findings)
		},
	})
}

const long = `simulate reads Node and Topology manifests, and PodGroups and Pods that stand already and stay, and runs a
stream of gangs on them: they arrive, wait, run for their duration and end; nodes fail and return. Order, overtaking,
kept room, preemption and placement are decided by the scheduler's own code.

generate draws a stream, and import reads one from a public trace. A stream is a file of JSON lines in the order of
"at", in seconds:
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
  idle{noDemand, filters, reserved, unavoidable, avoidable}, metrics{NAME: value}
where idle is in resource-seconds of the device that the stream asks for most; used and idle add up to what nodes that
are not down offer. -o csv prints a line per gang, -o html a page with plots that needs no other file. -o recording
prints JSON lines for "kubectl packtree view --recording": {"cluster": {…}}, and for each moment at which anything
happened
  {"at", over[] (gangs), arrivals[]{podGroup, pods}, changes[] (as below)}

--compare simulates the same streams with one thing changed, and prints by how much the metrics differ; with several
streams, such as those of several seeds, with confidence intervals of 95 %. -o json then prints
  base, streams, confidence, metrics{NAME: mean},
  variants[]{name, differences[]{metric, base, value, difference, plusMinus}}

The deciders first-fit and best-fit are built in. Any other is a program, which gets a JSON line for each decision on
standard input,
  {"cluster": {"nodes": […], "topologies": […], "pods": […]}, "changes": […], "gang": {"podGroup": {…}, "pods": […]}}
(cluster in the first line only; changes since the last one: {"pod": "ns/name", "node": "n1"}, where an empty node means
that the pod is gone, and {"node": "n1", "down": true}), and answers with one: {"assignments": {"POD": "NODE"}} or
{"refused": "reason"}. A placement that breaks the gang's constraints or a node's capacity ends the simulation.

The same input gives the same bytes. Exit codes: 0 simulated, 1 the input was rejected, 2 wrong flags.`

const example = `  kai-topology-plugin simulate -f cluster.yaml --jobs week.jsonl -o json | jq .idle
  kai-topology-plugin simulate -f cluster.yaml --jobs - --until 86400 -o csv < day.jsonl
  kai-topology-plugin simulate -f cluster.yaml --jobs week.jsonl -o html > week.html
  kai-topology-plugin simulate -f cluster.yaml --jobs seed-1.jsonl,seed-2.jsonl,seed-3.jsonl \
    --compare cluster=larger.yaml --compare decider=best-fit`

// CommandOn returns the subcommand `simulate` for a cluster.
func CommandOn(source Source) *cobra.Command {
	var asked asked
	command := &cobra.Command{
		Use:     source.Use + " --jobs FILE [--until SECONDS] [--decider NAME] [--compare KEY=VALUE ...] [-o FORMAT]",
		Short:   "Run a stream of gangs on a cluster in virtual time",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			sides, err := asked.check(source)
			if err != nil {
				return command.FlagErrorFunc()(command, err)
			}
			return asked.run(command, source, sides)
		},
	}
	source.Bind(command)
	flags := command.Flags()
	flags.StringSliceVar(&asked.jobs, "jobs", nil,
		"the stream, JSON lines; - for standard input. Several, such as those of several seeds, are compared")
	flags.Float64Var(&asked.until, "until", 0,
		"the last second; without it the simulation goes on until nothing more happens")
	flags.StringVar(&asked.decider, "decider", "",
		"who decides in the scheduler's place: first-fit, best-fit, or a program, which is run by sh -c")
	flags.StringArrayVar(&asked.compare, "compare", nil,
		"simulate the same with one thing changed, and print what differs: cluster=FILE[,…], jobs=FILE[,…], "+
			"decider=NAME or placement=NAME; may be repeated")
	flags.StringVar(&asked.resume, "resume", "",
		"a file for decisions: a simulation that was interrupted goes on after those in it, and of a comparison "+
			"those that are finished are not run again")
	flags.StringVarP(&asked.output, "output", "o", "",
		"json (the default), csv with a line per gang, html: a page with plots, or recording, for kubectl packtree "+
			"view; of a comparison text (the default), json or html")
	flags.StringVar(&asked.placement, "placement", string(packing.Pack),
		"the domains of gangs that do not say it themselves: Pack or Spread")
	command.AddCommand(generateCommand(source), importCommand())
	return command
}

// asked are the flags.
type asked struct {
	output, placement, decider, resume string
	jobs, compare                      []string
	until                              float64
}

// comparing reports whether there is more than one thing to simulate.
func (a *asked) comparing() bool { return len(a.jobs) > 1 || len(a.compare) > 0 }

// check returns what is to be simulated, the base first, or which flag is wrong.
func (a *asked) check(source Source) ([]side, error) {
	if err := placementFlag("--placement", a.placement); err != nil {
		return nil, err
	}
	if err := a.checkOutput(); err != nil {
		return nil, err
	}
	switch {
	case len(a.jobs) == 0 || a.jobs[0] == "":
		return nil, errors.New("--jobs is missing: the file with the stream, - for standard input")
	case slices.Contains(a.jobs, "-") && source.Stdin():
		return nil, errors.New("-f and --jobs cannot both read standard input")
	case slices.Contains(a.jobs, "-") && a.comparing():
		return nil, errors.New("--jobs cannot be standard input for a comparison, which reads it more than once")
	case slices.Contains(a.jobs, "-") && a.resume != "":
		return nil, errors.New("--jobs cannot be standard input with --resume, which has to know the stream again")
	case !(a.until >= 0 && a.until <= maxSeconds):
		return nil, fmt.Errorf("--until is a number of seconds from 0 to %g, not %v", maxSeconds, a.until)
	}
	return a.sides()
}

// checkOutput fills in which format is meant where none is named.
func (a *asked) checkOutput() error {
	switch {
	case a.comparing() && a.output == "":
		a.output = "text"
	case a.output == "":
		a.output = "json"
	case a.comparing() && comparisonFormats[a.output] == nil:
		return fmt.Errorf("-o is text, json or html for a comparison, not %q", a.output)
	case !a.comparing() && formats[a.output] == nil:
		return fmt.Errorf("-o is json, csv, html or recording, not %q", a.output)
	}
	return nil
}

func (a *asked) run(command *cobra.Command, source Source, sides []side) (err error) {
	ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if a.comparing() {
		comparison, err := a.compared(ctx, command, source, sides)
		if err != nil {
			return err
		}
		return comparisonFormats[a.output](comparison, command.OutOrStdout())
	}
	cluster, err := source.Read(command)
	if err != nil {
		return err
	}
	from, err := resume(a.resume)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	run, err := a.saved(command, &sides[0], cluster, a.jobs[0])
	if err != nil {
		return err
	}
	decisions, err := from.begin(run)
	if err != nil {
		return fmt.Errorf("--resume: %w", err)
	}
	result, err := a.simulate(ctx, command, &sides[0], cluster, a.jobs[0], decisions)
	if err != nil {
		return err
	}
	return formats[a.output](result, command.OutOrStdout())
}

var (
	formats = map[string]func(*Result, io.Writer) error{
		"json": (*Result).JSON, "csv": (*Result).CSV, "html": (*Result).HTML, "recording": (*Result).Recording,
	}
	comparisonFormats = map[string]func(*Comparison, io.Writer) error{
		"text": (*Comparison).Text, "json": (*Comparison).JSON, "html": (*Comparison).HTML,
	}
)

func readJobs(command *cobra.Command, jobs string, cluster *inventory.Inventory) (stream []Event, err error) {
	err = opened(command, jobs, func(from io.Reader) error {
		stream, err = Read(jobs, from, cluster)
		return err
	})
	return stream, err
}

// opened reads a file, - for standard input. What is wrong with it is printed.
func opened(command *cobra.Command, file string, read func(from io.Reader) error) error {
	from := command.InOrStdin()
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
		from = opened
	}
	if err := read(from); err != nil {
		fmt.Fprintln(command.ErrOrStderr(), err)
		return rejected{err}
	}
	return nil
}

// rejected is a stream whose faults have been printed, each in the form that editors and programs read.
type rejected struct{ error }

// ExitCode implements render.Coder.
func (rejected) ExitCode() int { return render.ExitRejected }

// progress prints now and then how far the simulation is.
func progress(w io.Writer) func(at float64, done, of int) {
	last := time.Now()
	return func(at float64, done, of int) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			fmt.Fprintf(w, "second %.0f, %d of %d lines\n", at, done, of)
		}
	}
}

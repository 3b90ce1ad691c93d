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

	"packtree.dev/kai-topology-plugin/internal/decide/overtaking"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/render"
)

const long = `simulate reads Node and Topology manifests, and PodGroups and Pods that stand already and stay, and runs a
stream of gangs on them: they arrive, wait, run for their duration and end; nodes fail and return. Order, overtaking,
kept room, preemption and placement are decided by the scheduler's own code.

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
          preemptions, moves}, capacity{RESOURCE: amount}, series[]{at, used{RESOURCE: amount}, waiting, running}
and -o csv a line per gang. Without -o there is a summary.

The same input gives the same bytes. Exit codes: 0 simulated, 1 the input was rejected, 2 wrong flags.`

const example = `  kai-topology-plugin simulate -f cluster.yaml --jobs week.jsonl
  kai-topology-plugin simulate -f cluster.yaml --jobs week.jsonl -o json | jq '.gangs[] | select(.state == "Waiting")'
  kai-topology-plugin simulate -f cluster.yaml --jobs - --until 86400 -o csv < day.jsonl`

// asked are the flags.
type asked struct {
	files                   []string
	jobs, output, placement string
	until                   float64
	reserveFor              time.Duration
}

var formats = map[string]func(*Result, io.Writer) error{
	"": (*Result).Summary, "json": (*Result).JSON, "csv": (*Result).CSV,
}

// Command returns the subcommand `simulate`.
func Command() *cobra.Command {
	var asked asked
	command := &cobra.Command{
		Use:     "simulate -f CLUSTER [-f FILE ...] --jobs FILE [--until SECONDS] [-o json|csv]",
		Short:   "Run a stream of gangs on a cluster in virtual time",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := asked.check(); err != nil {
				return command.FlagErrorFunc()(command, err)
			}
			return asked.run(command)
		},
	}
	render.BindFiles(command, &asked.files)
	flags := command.Flags()
	flags.StringVar(&asked.jobs, "jobs", "", "the stream, JSON lines; - for standard input")
	flags.Float64Var(&asked.until, "until", 0,
		"the last second; without it the simulation goes on until nothing more happens")
	flags.StringVarP(&asked.output, "output", "o", "", "json, or csv with a line per gang; a summary without it")
	flags.DurationVar(&asked.reserveFor, "reserve-for", overtaking.DefaultReserveFor,
		"the scheduler's argument reserveFor; 0s reserves nothing for overtaken gangs")
	place.BindPlacement(command, &asked.placement)
	return command
}

// check returns which flag is wrong.
func (a *asked) check() error {
	options := packing.Options{Placement: packing.Placement(a.placement)}
	if err := options.Check(); err != nil {
		return fmt.Errorf("--placement: %w", err)
	}
	switch {
	case formats[a.output] == nil:
		return fmt.Errorf("-o is json or csv, not %q", a.output)
	case a.jobs == "":
		return errors.New("--jobs is missing: the file with the stream, - for standard input")
	case a.jobs == "-" && slices.Contains(a.files, "-"):
		return errors.New("-f and --jobs cannot both read standard input")
	case a.reserveFor < 0:
		return fmt.Errorf("--reserve-for is a duration such as 5m, not %s", a.reserveFor)
	case !(a.until >= 0 && a.until <= maxSeconds):
		return fmt.Errorf("--until is a number of seconds from 0 to %g, not %v", maxSeconds, a.until)
	}
	return nil
}

func (a *asked) run(command *cobra.Command) error {
	ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cluster, err := place.Read(command, a.files)
	if err != nil {
		return err
	}
	cluster.Placement = packing.Placement(a.placement)
	stream, err := a.readJobs(command, cluster)
	if err != nil {
		return err
	}
	result, err := a.simulate(ctx, command, cluster, stream)
	if err != nil {
		return err
	}
	result.warn(command.ErrOrStderr())
	return formats[a.output](result, command.OutOrStdout())
}

// readJobs reads the stream. What is wrong with it is printed.
func (a *asked) readJobs(command *cobra.Command, cluster *inventory.Inventory) ([]Event, error) {
	from := command.InOrStdin()
	if a.jobs != "-" {
		opened, err := os.Open(a.jobs)
		if err != nil {
			return nil, err
		}
		defer func() { _ = opened.Close() }()
		from = opened
	}
	stream, err := Read(a.jobs, from, cluster)
	if err != nil {
		fmt.Fprintln(command.ErrOrStderr(), err)
		return nil, rejected{err}
	}
	return stream, nil
}

// rejected is a stream with faults that have been printed, each in the form that editors and programs read.
type rejected struct{ error }

// ExitCode implements render.Coder.
func (rejected) ExitCode() int { return render.ExitRejected }

func (a *asked) simulate(
	ctx context.Context, command *cobra.Command, cluster *inventory.Inventory, stream []Event,
) (*Result, error) {
	options := Options{Progress: progress(command.ErrOrStderr()), ReserveFor: &a.reserveFor}
	if command.Flags().Changed("until") {
		options.Until = &a.until
	}
	result, err := Run(ctx, cluster, stream, options)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted: %w", err)
	}
	return result, err
}

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

package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/recording"
	"packtree.dev/shared/packing"
)

// side is what is simulated on each of some streams.
type side struct {
	name string
	// cluster are files to read instead of those that the command names; none for the command's own.
	cluster            []string
	jobs               []string
	decider, placement string
}

// sides are the base, as the flags say, and what --compare changes in it, one thing each.
func (a *asked) sides() ([]side, error) {
	base := side{jobs: a.jobs, decider: a.decider, placement: a.placement}
	base.name = base.decider
	if base.name == "" {
		base.name = "the scheduler"
	}
	all := []side{base}
	for _, change := range a.compare {
		key, value, ok := strings.Cut(change, "=")
		changed := base
		changed.name = change
		values := strings.Split(value, ",")
		switch key {
		case "cluster":
			changed.cluster = values
		case "jobs":
			changed.jobs = values
		case "decider":
			changed.decider = value
		case "placement":
			changed.placement = value
		default:
			ok = false
		}
		switch {
		case !ok || value == "":
			return nil, fmt.Errorf(
				"--compare is cluster=FILE[,…], jobs=FILE[,…], decider=CMD or placement=NAME, not %q", change)
		case len(changed.jobs) != len(base.jobs):
			return nil, fmt.Errorf(
				"--compare %s: there are %d streams, and --jobs has %d", change, len(changed.jobs), len(base.jobs))
		}
		if err := placementFlag("--compare placement", changed.placement); err != nil {
			return nil, err
		}
		all = append(all, changed)
	}
	return all, nil
}

func placementFlag(flag, value string) error {
	options := packing.Options{Placement: packing.Placement(value)}
	if err := options.Check(); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// compared simulates all sides, one after the other, and compares them.
func (a *asked) compared(
	ctx context.Context, command *cobra.Command, source Source, sides []side,
) (comparison *Comparison, err error) {
	from, err := resume(a.resume)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	all := make([]measured, len(sides))
	var own *inventory.Inventory
	for i, side := range sides {
		cluster := own
		if cluster == nil || len(side.cluster) > 0 {
			if cluster, err = source.Read(command, side.cluster...); err != nil {
				return nil, err
			}
		}
		if len(side.cluster) == 0 {
			own = cluster
		}
		all[i].name = side.name
		for _, jobs := range side.jobs {
			found, err := a.measure(ctx, command, &side, cluster, jobs, from)
			if err != nil {
				return nil, err
			}
			all[i].runs = append(all[i].runs, found)
		}
	}
	return compare(all), nil
}

// measure simulates one side on one stream, unless that is done.
func (a *asked) measure(
	ctx context.Context, command *cobra.Command, side *side, cluster *inventory.Inventory, jobs string, from *saved,
) (Metrics, error) {
	run, err := a.saved(command, side, cluster, jobs)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(command.ErrOrStderr(), "%s: ", run.Run)
	if found, known := from.known[run.Key]; known {
		fmt.Fprintln(command.ErrOrStderr(), "was finished before")
		return found, nil
	}
	decisions, err := from.begin(run)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	result, err := a.simulate(ctx, command, side, cluster, jobs, decisions)
	if err != nil {
		return nil, err
	}
	run.Metrics = result.Metrics()
	return run.Metrics, from.finish(run)
}

// saved is the line by which a simulation is known again.
func (a *asked) saved(
	command *cobra.Command, side *side, cluster *inventory.Inventory, jobs string,
) (run savedRun, err error) {
	run.Run = side.name + " on " + jobs
	if a.resume != "" {
		run.Key, err = side.keyOf(cluster, jobs, a.end(command))
	}
	return run, err
}

// end is --until, nil without it.
func (a *asked) end(command *cobra.Command) *float64 {
	if command.Flags().Changed("until") {
		return &a.until
	}
	return nil
}

// simulate simulates one side on one stream, from where it was interrupted.
func (a *asked) simulate(
	ctx context.Context, command *cobra.Command, side *side, cluster *inventory.Inventory,
	jobs string, decisions *decisions,
) (*Result, error) {
	stream, err := readJobs(command, jobs, cluster)
	if err != nil {
		return nil, err
	}
	cluster.Placement = packing.Placement(side.placement)
	options := Options{Until: a.end(command), Progress: progress(command.ErrOrStderr()), decisions: decisions}
	var recorded bytes.Buffer
	if a.output == "recording" {
		writer, err := recording.NewWriter(&recorded, cluster)
		if err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
		options.Record = writer.Write
	}
	collectRarely()
	result, err := simulateBy(ctx, command.ErrOrStderr(), side.decider, cluster, stream, options)
	err = errors.Join(err, decisions.flush())
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("interrupted: %w", err)
	case err != nil:
		return nil, err
	}
	result.recorded = &recorded
	fmt.Fprintf(command.ErrOrStderr(), "simulated %.0f seconds: %s\n", result.Until, result.Summary())
	result.warn(command.ErrOrStderr())
	return result, nil
}

// spareMemory is how many bytes of garbage may lie about, if that is more than what is in use.
const spareMemory = 256 << 20

// collectRarely has garbage collected up to four times as rarely, unless the environment says how often: a quarter of
// the time goes into it otherwise. Large clusters do not get more memory.
func collectRarely() {
	if os.Getenv("GOGC") != "" {
		return
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	debug.SetGCPercent(int(min(400, max(100, 100*spareMemory/memory.HeapAlloc))))
}

// simulateBy runs the simulation with the decider that is named: a built-in one, a program, or "" for the scheduler's
// own.
func simulateBy(
	ctx context.Context, stderr io.Writer, named string, cluster *inventory.Inventory, stream []Event, options Options,
) (*Result, error) {
	if slices.Contains([]string{FirstFit, BestFit}, named) {
		options.Decider = newBaseline(named == BestFit)
	}
	if named == "" || options.Decider != nil {
		return Run(ctx, cluster, stream, options)
	}
	decider, err := startProgram(ctx, named, stderr, cluster)
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

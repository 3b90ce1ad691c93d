package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// importCommand returns the subcommand `import`, which makes a stream of a public trace.
func importCommand() *cobra.Command {
	var from, resource string
	constraint := &constrained{}
	known := slices.Sorted(maps.Keys(traces))
	command := &cobra.Command{
		Use:   "import --from TRACE FILE",
		Short: "Make a stream of a public trace",
		Long: `import reads a file of a public trace, which you have, and prints it as a stream for simulate. Jobs
arrive when they were submitted, counted from the first, and run as long as they ran. Pods of a gang are alike: they ask
for the largest number of GPUs that its job could have had in equal parts on as many nodes as it had, or on more. A part
of a GPU counts as one. Jobs that ask for no GPU, that were never started, or that did not end before the trace did are
left out.

` + traceFiles(known),
		Example: `  kai-topology-plugin simulate import --from helios cluster_log.csv --topology net \
    --preferred example.com/rack > venus.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			of, ok := traces[from]
			if !ok {
				err := fmt.Errorf("--from is one of %s, not %q", strings.Join(known, ", "), from)
				return command.FlagErrorFunc()(command, err)
			}
			if err := constraint.check(); err != nil {
				return command.FlagErrorFunc()(command, err)
			}
			var found *imported
			err := opened(command, args[0], func(from io.Reader) (err error) {
				found, err = importTrace(of, args[0], from)
				return err
			})
			if err != nil {
				return err
			}
			for _, why := range slices.Sorted(maps.Keys(found.left)) {
				fmt.Fprintf(command.ErrOrStderr(), "left out: %d that %s\n", found.left[why], string(why))
			}
			return found.write(command.OutOrStdout(), resource, constraint)
		},
	}
	flags := command.Flags()
	flags.StringVar(&from, "from", "", "the trace: "+strings.Join(known, ", "))
	flags.StringVar(&resource, "resource", "nvidia.com/gpu", "what GPUs are called in the cluster")
	constraint.bind(command)
	return command
}

// traceFiles are the traces and what is read of each.
func traceFiles(known []string) string {
	var text strings.Builder
	for _, name := range known {
		fmt.Fprintf(&text, "  %-13s %s", name, traces[name].file)
		if columns := traces[name].columns; columns != nil {
			fmt.Fprintf(&text, ": %s", strings.Join(columns, ", "))
		}
		text.WriteString("\n")
	}
	return strings.TrimRight(text.String(), "\n")
}

// write prints the jobs as lines of a stream, in the order of their arrival.
func (i *imported) write(w io.Writer, resource string, constraint *constrained) error {
	slices.SortStableFunc(i.jobs, func(a, b *traceJob) int { return cmp.Compare(a.at, b.at) })
	lines := json.NewEncoder(w)
	for _, job := range i.jobs {
		line := drawnLine{
			At: milli(job.at - i.jobs[0].at), Name: job.name, Pods: int32(min(job.pods, math.MaxInt32)),
			Requests: map[string]string{resource: strconv.FormatInt(job.gpus, 10)},
		}
		if job.duration != nil {
			duration := milli(*job.duration)
			line.Duration = &duration
		}
		constraint.constrain(&line)
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

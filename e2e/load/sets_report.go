package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// SetsReport is what was measured of grove-operator.
type SetsReport struct {
	Machine  string      `json:"machine"`
	Date     string      `json:"date"`
	Steps    []Step      `json:"steps,omitempty"`
	Rest     *Rest       `json:"rest,omitempty"`
	Restarts []Restarted `json:"restarts,omitempty"`
	// Topologies is nil where that part was not measured.
	Topologies *TopologyChanges `json:"topologies,omitempty"`
}

// Print writes the report as tables.
func (r *SetsReport) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s\n", r.Machine, r.Date)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	printSteps(table, r.Steps)
	if r.Rest != nil {
		r.Rest.print(table)
	}
	printRestarts(table, r.Restarts)
	if r.Topologies != nil {
		r.Topologies.print(table)
	}
	return table.Flush()
}

func printSteps(table io.Writer, steps []Step) {
	fmt.Fprintln(table, "\nSTEP\tPODS\tS\tPODS/S\tAT REST S\tCPU S\tAPI SERVER CPU S")
	for _, s := range steps {
		fmt.Fprintf(table, "%s\t%d\t%.1f\t%.0f\t%.1f\t%.1f\t%.1f\n", s.Name, s.Pods, s.Seconds, float64(s.Pods)/s.Seconds, s.Settled, s.CPUSeconds, s.APIServerCPUSeconds)
	}
	fmt.Fprintln(table, "\nSTEP\tCONTROLLER\tRECONCILES\tMEDIAN MS\tP99 MS")
	for _, s := range steps {
		for _, c := range s.Reconciles {
			fmt.Fprintf(table, "%s\t%s\t%d\t≤ %.0f\t≤ %.0f\n", s.Name, c.Controller, c.Count, c.Median, c.P99)
		}
	}
	fmt.Fprintln(table, "\nSTEP\tWRITTEN\tTIMES")
	for _, s := range steps {
		printWrites(table, s.Name, s.Writes)
	}
}

func (r *Rest) print(table io.Writer) {
	fmt.Fprintf(table, "\nat rest for %.0f s\t%.2f %% of a core\n", r.Seconds, r.CPUPercent)
	printWrites(table, "at rest", r.Writes)
}

func printRestarts(table io.Writer, restarts []Restarted) {
	if len(restarts) > 0 {
		fmt.Fprintln(table, "\nRESTART: PODS\tFOREIGN PODS\tAT REST S\tCPU S\tMIB\tMOST MIB\tWRITES")
	}
	for _, s := range restarts {
		fmt.Fprintf(table, "%d\t%d\t%.1f\t%.1f\t%.0f\t%.0f\t%v\n", s.Pods, s.Foreign, s.Seconds, s.CPUSeconds, s.MiB, s.MostMiB, s.Writes)
	}
}

func (t *TopologyChanges) print(out io.Writer) {
	fmt.Fprintf(out, "\nTOPOLOGY OF %d SETS\tANSWERED S\tALL SETS TELL S\tAT REST S\tCPU S\n", t.Sets)
	fmt.Fprintf(out, "an unused one changed\t%.3f\t\t\t\n", t.UnusedChanged)
	fmt.Fprintf(out, "a level goes\t%.3f\t%.1f\t%.1f\t%.1f\n", t.Drifted.Answered, t.Drifted.All, t.Drifted.Settled, t.Drifted.CPUSeconds)
	fmt.Fprintf(out, "it returns\t%.3f\t%.1f\t%.1f\t%.1f\n", t.Returned.Answered, t.Returned.All, t.Returned.Settled, t.Returned.CPUSeconds)
	fmt.Fprintf(out, "deleted\t%.3f\t\t\t\n", t.UsedDeleted)
	printWrites(out, "a level goes", t.Drifted.Writes)
	printWrites(out, "it returns", t.Returned.Writes)
}

func printWrites(out io.Writer, step string, counts map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "%s\t%s\t%d\n", step, name, counts[name])
	}
}

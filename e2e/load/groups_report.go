package load

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// GroupsReport is what was measured of podgrouper.
type GroupsReport struct {
	Machine string       `json:"machine"`
	Date    string       `json:"date"`
	Jobs    []GroupedJob `json:"jobs,omitempty"`
	Rest    *Rest        `json:"rest,omitempty"`
	// Beside is the program after the pods were made, and after it was started anew beside them.
	Beside []Restarted `json:"beside,omitempty"`
}

// Print writes the report as tables.
func (r *GroupsReport) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s\n", r.Machine, r.Date)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Jobs) > 0 {
		fmt.Fprintln(table, "\nJOB: PODS\tLAST CREATED S\tLAST GROUPED S\tCPU S\tAPI SERVER CPU S")
	}
	for _, job := range r.Jobs {
		fmt.Fprintf(table, "%d\t%.1f\t%.1f\t%.1f\t%.1f\n", job.Pods, job.Created, job.Grouped, job.CPUSeconds, job.APIServerCPUSeconds)
	}
	for i, job := range r.Jobs {
		printWrites(table, fmt.Sprintf("Job %d", i+1), job.Writes)
	}
	if r.Rest != nil {
		fmt.Fprintf(table, "\nat rest for %.0f s\t%.2f %% of a core\n", r.Rest.Seconds, r.Rest.CPUPercent)
		printWrites(table, "at rest", r.Rest.Writes)
	}
	if len(r.Beside) > 0 {
		fmt.Fprintln(table, "\nBESIDE: PODS\tAT REST S\tCPU S\tMIB\tMOST MIB\tWRITES")
	}
	for _, s := range r.Beside {
		fmt.Fprintf(table, "%d\t%.1f\t%.1f\t%.0f\t%.0f\t%v\n", s.Pods, s.Seconds, s.CPUSeconds, s.MiB, s.MostMiB, s.Writes)
	}
	return table.Flush()
}

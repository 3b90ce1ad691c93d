package load

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// DeploymentsReport is what was measured of dynamo-operator. The times of its steps are those until Grove has rested too.
type DeploymentsReport struct {
	Machine  string    `json:"machine"`
	Date     string    `json:"date"`
	Services int       `json:"services"`
	Starts   []Started `json:"starts"`
	Steps    []Step    `json:"steps"`
	Rest     *Rest     `json:"rest,omitempty"`
	// MiB is the operator's resident memory after the rest, MostMiB the most that it ever was.
	MiB      float64     `json:"mib,omitempty"`
	MostMiB  float64     `json:"mostMiB,omitempty"`
	Restarts []Restarted `json:"restarts,omitempty"`
}

// Print writes the report as tables.
func (r *DeploymentsReport) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s\n", r.Machine, r.Date)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nDEPLOYMENT OF %d SERVICES BESIDE\tALL PODS CREATED S: MEDIAN\tALL\tUNGATED S: MEDIAN\tALL\n", r.Services)
	for _, s := range r.Starts {
		fmt.Fprintf(table, "%d\t%.1f\t%.1f\t%.1f\t%.1f\n", s.Beside, median(s.Created), s.Created, median(s.Ungated), s.Ungated)
	}
	printSteps(table, r.Steps)
	if r.Rest != nil {
		r.Rest.print(table)
		fmt.Fprintf(table, "memory at rest\t%.0f MiB\tat most %.0f MiB\n", r.MiB, r.MostMiB)
	}
	printRestarts(table, r.Restarts)
	return table.Flush()
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// schedulersReport has the measurements of the schedulers.
type schedulersReport struct {
	Machine     string
	Date        string
	Nodes       int
	Running     int
	QPS         int
	FlowControl bool
	Kubelets    bool
	Figures     []*figure
	// APIServer has the counters of the API server's flow control for the whole time, by flow schema.
	APIServer []flow
}

// figure is one measured quantity, with a value for each repetition of its scenario.
type figure struct {
	Scheduler string
	Scenario  string
	Name      string
	Values    []float64
}

// add adds a value to a figure.
func (r *schedulersReport) add(by scheduler, scenario, name string, value float64) {
	at := slices.IndexFunc(r.Figures, func(f *figure) bool {
		return f.Scheduler == by.program && f.Scenario == scenario && f.Name == name
	})
	if at < 0 {
		r.Figures = append(r.Figures, &figure{by.program, scenario, name, nil})
		at = len(r.Figures) - 1
	}
	r.Figures[at].Values = append(r.Figures[at].Values, value)
}

// unmodified is the median of a figure for the unmodified scheduler; 0 if that was not measured.
func (r *schedulersReport) unmodified(name string) float64 {
	for _, f := range r.Figures {
		if f.Scheduler == unmodified.program && f.Name == name {
			return median(f.Values)
		}
	}
	return 0
}

// Print writes the report as tables.
func (r *schedulersReport) Print(out io.Writer) error {
	fmt.Fprintf(out,
		"%s, %s\n%d nodes, %d running pods, clientConnection of both schedulers %d a second, our FlowSchemas: %t, "+
			"kubelets while pods are bound: %t\n",
		r.Machine, r.Date, r.Nodes, r.Running, r.QPS, r.FlowControl, r.Kubelets)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nSCHEDULER\tSCENARIO\tFIGURE\tMEDIAN\tRATIO\tRUNS\n")
	for _, f := range r.Figures {
		ratio := "-"
		if base := r.unmodified(f.Name); base > 0 {
			ratio = fmt.Sprintf("%.2f", median(f.Values)/base)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.4g\t%s\t%s\n", f.Scheduler, f.Scenario, f.Name, median(f.Values), ratio,
			strings.Trim(fmt.Sprintf("%.4g", f.Values), "[]"))
	}
	fmt.Fprintf(table, "\nFLOW SCHEMA\tPRIORITY LEVEL\tREQUESTS\tREJECTED\tMEAN WAIT\n")
	for _, f := range r.APIServer {
		fmt.Fprintf(table, "%s\t%s\t%.0f\t%.0f\t%.1f ms\n", f.Schema, f.Level, f.Requests, f.Rejected,
			f.MeanWaitMilliseconds)
	}
	return table.Flush()
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/prometheus/procfs"
)

// report has the measurements of the schedulers.
type report struct {
	Machine string
	Date    string
	Nodes   int
	QPS     int
	Figures []*figure
}

// figure is one measured quantity, with a value for each repetition of its scenario.
type figure struct {
	Scheduler string
	Scenario  string
	Name      string
	Values    []float64
}

// add adds a value to a figure.
func (r *report) add(by scheduler, scenario, name string, value float64) {
	at := slices.IndexFunc(r.Figures, func(f *figure) bool {
		return f.Scheduler == by.program && f.Scenario == scenario && f.Name == name
	})
	if at < 0 {
		r.Figures = append(r.Figures, &figure{by.program, scenario, name, nil})
		at = len(r.Figures) - 1
	}
	r.Figures[at].Values = append(r.Figures[at].Values, value)
}

// reference is the median that a figure is compared with: that of kube-scheduler for the same scenario, or for its
// plain pods where it has not got that. It is 0 if that was not measured.
func (r *report) reference(of *figure) (value float64) {
	for _, f := range r.Figures {
		switch {
		case f.Name != of.Name:
		case f.Scheduler == native.program && f.Scenario == of.Scenario:
			return median(f.Values)
		case f.Scheduler == unmodified.program:
			value = median(f.Values)
		}
	}
	return value
}

// Print writes the report as tables.
func (r *report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s\n%d nodes, clientConnection of both schedulers %d a second\n", r.Machine, r.Date, r.Nodes,
		r.QPS)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nSCHEDULER\tSCENARIO\tFIGURE\tMEDIAN\tRATIO\tRUNS\n")
	for _, f := range r.Figures {
		ratio := "-"
		if base := r.reference(f); base > 0 {
			ratio = fmt.Sprintf("%.2f", median(f.Values)/base)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.4g\t%s\t%s\n", f.Scheduler, f.Scenario, f.Name, median(f.Values), ratio,
			strings.Trim(fmt.Sprintf("%.4g", f.Values), "[]"))
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

// computedBy is how many seconds a process has computed.
func computedBy(pid int) (float64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := process.Stat()
	return stat.CPUTime(), err
}

// machine names the processor and the number of its cores.
func machine() string {
	model := runtime.GOARCH
	if system, err := procfs.NewDefaultFS(); err == nil {
		if cores, err := system.CPUInfo(); err == nil && len(cores) > 0 {
			model = cores[0].ModelName
		}
	}
	return fmt.Sprintf("%d x %s", runtime.NumCPU(), model)
}

package load

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report has the measurements of the schedulers.
type Report struct {
	Machine     string    `json:"machine"`
	Date        string    `json:"date"`
	Nodes       int       `json:"nodes"`
	Running     int       `json:"runningPods,omitempty"`
	QPS         int       `json:"qps"`
	FlowControl bool      `json:"flowControl"`
	Kubelets    bool      `json:"kubelets"`
	Figures     []*Figure `json:"figures"`
	// APIServer has the counters of the API server's flow control for the whole time, by flow schema.
	APIServer []Flow `json:"apiServer"`
}

// Figure is one measured quantity, with a value for each repetition of its scenario.
type Figure struct {
	Scheduler string    `json:"scheduler"`
	Scenario  string    `json:"scenario"`
	Name      string    `json:"figure"`
	Values    []float64 `json:"values"`
}

// add adds a value to a figure.
func (r *Report) add(by scheduler, scenario, name string, value float64) {
	at := slices.IndexFunc(r.Figures, func(f *Figure) bool {
		return f.Scheduler == by.program && f.Scenario == scenario && f.Name == name
	})
	if at < 0 {
		r.Figures = append(r.Figures, &Figure{by.program, scenario, name, nil})
		at = len(r.Figures) - 1
	}
	r.Figures[at].Values = append(r.Figures[at].Values, value)
}

// unmodified is the median of a figure for the unmodified scheduler; 0 if that was not measured.
func (r *Report) unmodified(name string) float64 {
	for _, figure := range r.Figures {
		if figure.Scheduler == unmodified.program && figure.Name == name {
			return median(figure.Values)
		}
	}
	return 0
}

// Print writes the report as tables.
func (r *Report) Print(out io.Writer) error {
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
			list(f.Values))
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

func list(values []float64) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprintf("%.4g", value)
	}
	return strings.Join(words, " ")
}

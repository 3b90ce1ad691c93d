package load

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report is what was measured; nil is what was not.
type Report struct {
	Machine     string      `json:"machine"`
	Date        string      `json:"date"`
	Nodes       int         `json:"nodes"`
	Running     int         `json:"runningPods,omitempty"`
	QPS         int         `json:"qps"`
	FlowControl bool        `json:"flowControl"`
	Throughput  []*Row      `json:"throughput,omitempty"`
	Start       *Starts     `json:"start,omitempty"`
	Memory      []*Resident `json:"memory,omitempty"`
	Refusal     *Refused    `json:"refusal,omitempty"`
	// APIServer has what the API server's flow control counted over the whole time, by flow schema.
	APIServer []Flow `json:"apiServer"`
}

// Print writes the report as tables.
func (r *Report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s\n%d nodes, clientConnection of both schedulers %d a second, our FlowSchemas: %t\n", r.Machine, r.Date, r.Nodes, r.QPS, r.FlowControl)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	r.printThroughput(table)
	if r.Start != nil {
		fmt.Fprintf(table, "\ngang of %d, last pod created to all bound\t%.2f s\t(%s)\n", r.Start.Gang, median(r.Start.Seconds), list(r.Start.Seconds, "%.2f"))
		if rate := r.plainRate(); rate > 0 {
			fmt.Fprintf(table, "as a multiple of that many plain pods by kube-scheduler\t%.2f\n", median(r.Start.Seconds)*rate/float64(r.Start.Gang))
		}
	}
	if len(r.Memory) > 0 {
		fmt.Fprintf(table, "\nMEMORY BESIDE %d RUNNING PODS\tMiB\tRATIO\tMOST\tRUNS\n", r.Running)
		for _, m := range r.Memory {
			fmt.Fprintf(table, "%s\t%.0f\t%.2f\t%.0f\t%s\n", m.Scheduler, median(m.MiB), median(m.MiB)/median(r.Memory[0].MiB), slices.Max(m.Most), list(m.MiB, "%.0f"))
		}
	}
	if f := r.Refusal; f != nil {
		fmt.Fprintf(table, "\na gang of %d that cannot fit: mean of a decision\t%.2f ms\t(%s)\n", f.Gang, median(f.Milliseconds), list(f.Milliseconds, "%.2f"))
		fmt.Fprintf(table, "decisions until it is told\t%s\n", fmt.Sprint(f.Decisions))
		fmt.Fprintf(table, "later events that cannot help, and decisions\t%v\t%v\n", f.Events, f.LaterDecisions)
		fmt.Fprintf(table, "the scheduler's CPU seconds in the seconds that those events took\t%s\t%s\n", list(f.LaterCPUSeconds, "%.1f"), list(f.LaterSeconds, "%.1f"))
	}
	fmt.Fprintf(table, "\nFLOW SCHEMA\tPRIORITY LEVEL\tREQUESTS\tREJECTED\tMEAN WAIT\n")
	for _, f := range r.APIServer {
		fmt.Fprintf(table, "%s\t%s\t%.0f\t%.0f\t%.1f ms\n", f.Schema, f.Level, f.Requests, f.Rejected, f.MeanWaitMilliseconds)
	}
	return table.Flush()
}

func (r *Report) printThroughput(out io.Writer) {
	if len(r.Throughput) == 0 {
		return
	}
	fmt.Fprintf(out, "\nSCHEDULER\tWORKLOAD\tPODS\tPODS/S\tRATIO\tCPU S\tAPI SERVER CPU S\tLEASE GAP S\tRUNS\n")
	base := r.plainRate()
	for _, row := range r.Throughput {
		rates := row.each(func(r Run) float64 { return r.PodsPerSecond })
		fmt.Fprintf(out, "%s\t%s\t%d\t%.0f\t%.2f\t%.1f\t%.1f\t%.1f\t%s\n", row.Scheduler, row.Workload, row.Pods, median(rates), median(rates)/base,
			median(row.each(func(r Run) float64 { return r.CPUSeconds })), median(row.each(func(r Run) float64 { return r.APIServerCPUSeconds })),
			slices.Max(row.each(func(r Run) float64 { return r.LeaseGapSeconds })), list(rates, "%.0f"))
	}
}

// plainRate is pods a second of the unmodified scheduler; 0 if that was not measured.
func (r *Report) plainRate() float64 {
	for _, row := range r.Throughput {
		if row.Scheduler == unmodified.program {
			return median(row.each(func(r Run) float64 { return r.PodsPerSecond }))
		}
	}
	return 0
}

func (r *Row) each(of func(Run) float64) []float64 {
	values := make([]float64, len(r.Runs))
	for i, run := range r.Runs {
		values[i] = of(run)
	}
	return values
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

func list(values []float64, format string) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprintf(format, value)
	}
	return strings.Join(words, " ")
}

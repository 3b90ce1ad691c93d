package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/prometheus/common/model"
)

// step is one action, with its cost.
type step struct {
	Name string
	// Pods at the end.
	Pods int
	// Answered is the time until the API server has answered all requests, Created until the last new pod existed,
	// Seconds until the final state, and Settled until the operators rest, including their statuses.
	Answered float64
	Created  float64
	Seconds  float64
	Settled  float64
	// CPUSeconds of the operator, and APIServerCPUSeconds of the API server, until the operators rest.
	CPUSeconds          float64
	APIServerCPUSeconds float64
	// MiB is the operator's resident memory at the end, MostMiB its maximum.
	MiB     float64
	MostMiB float64
	// Writes of all programs during the step, by verb and resource.
	Writes map[string]int
	// Reconciles has the durations for each controller.
	Reconciles []reconciled
}

// operatorReport has the measurements of an operator.
type operatorReport struct {
	Machine string
	Date    string
	Steps   []step
}

// moment waits for an event, and returns its moment.
type moment func(context.Context) (time.Time, error)

// are waits until there are so many pods, all of them done.
func (b *observed) are(pods int) moment {
	return func(ctx context.Context) (time.Time, error) { return b.become(ctx, b.pods, pods) }
}

// step makes a change, and waits until done returns its moment, and until the operators rest.
func (b *observed) step(ctx context.Context, name string, change func() error, done moment) error {
	before, err := b.read(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := change(); err != nil {
		return err
	}
	answered := time.Now()
	last, err := done(ctx)
	if err != nil {
		return err
	}
	if last.Before(answered) {
		last = answered // There was nothing to change.
	}
	settled, err := b.settle(ctx)
	if err != nil {
		return err
	}
	after, err := b.read(ctx)
	if err != nil {
		return err
	}
	s := cost(before, after)
	all, _, _, appeared := b.pods.counts()
	s.Name, s.Pods = name, all
	s.Answered, s.Seconds = answered.Sub(began).Seconds(), last.Sub(began).Seconds()
	s.Settled = settled.Sub(began).Seconds()
	if created := appeared.Sub(began); created > 0 {
		s.Created = created.Seconds()
	}
	b.add(s)
	return nil
}

func (b *observed) add(s step) {
	b.report.Steps = append(b.report.Steps, s)
	b.say("%s: %d pods, done after %.1f s, at rest after %.1f s, %v written, %.0f MiB",
		s.Name, s.Pods, s.Seconds, s.Settled, s.Writes, s.MiB)
}

// cost is the difference of two readings. A process that was started in between has counted from zero.
func cost(before, after reading) step {
	if before.process != after.process {
		before.operator, before.operatorUse = nil, usage{}
	}
	return step{
		CPUSeconds:          after.operatorUse.cpu - before.operatorUse.cpu,
		APIServerCPUSeconds: after.apiServerUse.cpu - before.apiServerUse.cpu,
		MiB:                 after.operatorUse.resident,
		MostMiB:             after.operatorUse.most,
		Writes:              writes(before.apiServer, after.apiServer),
		Reconciles:          reconciles(before.operator, after.operator),
	}
}

// rest measures for some time while there is nothing to do.
func (b *observed) rest(ctx context.Context, quiet time.Duration) error {
	before, err := b.read(ctx)
	if err != nil {
		return err
	}
	select {
	case <-time.After(quiet):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	after, err := b.read(ctx)
	if err != nil {
		return err
	}
	s := cost(before, after)
	s.Name, s.Pods, s.Seconds = "at rest", b.pods.count(), quiet.Seconds()
	b.add(s)
	return nil
}

// startAnew restarts the operator, and waits until one of its controllers has made so many passes and the operator
// rests.
func (b *observed) startAnew(ctx context.Context, name, controller string, passes int) error {
	if err := b.machine.Stop(ctx, b.measured.program); err != nil {
		return err
	}
	start := func() error { return b.machine.Start(ctx, b.measured.program) }
	return b.step(ctx, name, start, func(ctx context.Context) (time.Time, error) {
		what := fmt.Sprintf("the operator has looked at %d of %s", passes, controller)
		err := b.until(ctx, what, func(ctx context.Context) (bool, string, error) {
			counted, err := b.measured.read(ctx)
			if err != nil {
				return false, "", err
			}
			seen := counted.sum("controller_runtime_reconcile_total",
				model.LabelSet{"controller": model.LabelValue(controller)})
			return int(seen) >= passes, fmt.Sprintf("%.0f of %d", seen, passes), nil
		})
		return time.Now(), err
	})
}

// Print writes the report as tables.
func (r *operatorReport) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s\n", r.Machine, r.Date)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(
		table, "\nSTEP\tPODS\tANSWERED S\tCREATED S\tDONE S\tAT REST S\tCPU S\tAPI SERVER CPU S\tMIB\tMOST MIB")
	for _, s := range r.Steps {
		fmt.Fprintf(table, "%s\t%d\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\n",
			s.Name, s.Pods, s.Answered, s.Created, s.Seconds, s.Settled, s.CPUSeconds, s.APIServerCPUSeconds,
			s.MiB, s.MostMiB)
	}
	fmt.Fprintln(table, "\nSTEP\tCONTROLLER\tRECONCILES\tMEDIAN MS\tP99 MS")
	for _, s := range r.Steps {
		for _, c := range s.Reconciles {
			fmt.Fprintf(table, "%s\t%s\t%d\t≤ %.0f\t≤ %.0f\n", s.Name, c.Controller, c.Count, c.Median, c.P99)
		}
	}
	fmt.Fprintln(table, "\nSTEP\tWRITTEN\tTIMES")
	for _, s := range r.Steps {
		for _, name := range slices.Sorted(maps.Keys(s.Writes)) {
			fmt.Fprintf(table, "%s\t%s\t%d\n", s.Name, name, s.Writes[name])
		}
	}
	return table.Flush()
}

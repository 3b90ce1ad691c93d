package endure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/e2e/devcluster"
)

// Report is the result of a campaign.
type Report struct {
	Seed       uint64
	Counts     map[string]int
	Violations []Violation
	// Idle compares the programs before and after.
	Idle []string
	// Acts are all acts, a line each.
	Acts []string
}

// near is how many seconds before a violation its acts may be.
const near = 60

// String has the figures, and for each violation the acts before it.
func (r *Report) String() string {
	var lines strings.Builder
	fmt.Fprintf(&lines, "seed %d: %d kills, %d API faults, %d node faults, %d violations\n", r.Seed,
		r.sum("programs killed", "control plane killed"),
		r.sum(append(slices.Collect(maps.Values(callFates)), slices.Collect(maps.Values(watchFates))...)...),
		r.sum("node faults"), len(r.Violations))
	for _, what := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&lines, "%7d %s\n", r.Counts[what], what)
	}
	for _, line := range r.Idle {
		fmt.Fprintln(&lines, line)
	}
	for _, violation := range r.Violations {
		fmt.Fprintf(&lines, "\nVIOLATION %s\n  the last acts before it:\n", violation)
		until := slices.IndexFunc(r.Acts, func(act string) bool { return act > violation.At.Format("15:04:05") })
		if until < 0 {
			until = len(r.Acts)
		}
		for _, act := range r.Acts[max(0, until-near):until] {
			fmt.Fprintf(&lines, "    %s\n", act)
		}
	}
	return lines.String()
}

func (r *Report) sum(counts ...string) (sum int) {
	for _, what := range counts {
		sum += r.Counts[what]
	}
	return sum
}

func (c *Campaign) report() *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Report{Seed: c.Seed, Counts: c.counts, Acts: c.log}
}

// figures are the gauges of each program, sums over their labels.
func (c *Campaign) figures(ctx context.Context) (map[string]map[string]float64, error) {
	all := map[string]map[string]float64{}
	for _, program := range devcluster.Components {
		sums := map[string]float64{}
		// A program that has just started may not know its clients yet.
		if err := insist(ctx, func(ctx context.Context) error {
			families, err := c.Metrics(ctx, program)
			for figure, family := range families {
				for _, metric := range family.GetMetric() {
					sums[figure] += metric.GetGauge().GetValue()
				}
			}
			return err
		}); err != nil {
			return nil, err
		}
		all[program] = sums
	}
	return all, nil
}

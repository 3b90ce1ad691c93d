package endure

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"

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

// metrics are the figures of each program, sums over their labels.
func (c *Campaign) metrics(ctx context.Context) (map[string]map[string]float64, error) {
	authorized, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true,
		CertData: c.Server.CertData, KeyData: c.Server.KeyData, CertFile: c.Server.CertFile, KeyFile: c.Server.KeyFile}})
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]float64{}
	for _, program := range devcluster.Components {
		// A program that has just started may not know its clients yet.
		if err := insist(ctx, func(ctx context.Context) (err error) {
			all[program], err = gauges(ctx, &http.Client{Transport: authorized}, c.Machine.Metrics(program))
			return err
		}); err != nil {
			return nil, fmt.Errorf("reading the metrics of %s: %w", program, err)
		}
	}
	return all, nil
}

func gauges(ctx context.Context, authorized *http.Client, address string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := authorized.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", answer.Status, err)
	}
	sums := map[string]float64{}
	for figure, family := range families {
		for _, metric := range family.Metric {
			sums[figure] += metric.GetGauge().GetValue()
		}
	}
	return sums, nil
}

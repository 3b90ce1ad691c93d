package load

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Flow is what the API server's flow control did with the requests of one flow schema.
type Flow struct {
	Schema string `json:"schema"`
	Level  string `json:"priorityLevel"`
	// Requests were served, Rejected turned down because the level was full.
	Requests float64 `json:"requests"`
	Rejected float64 `json:"rejected"`
	// MeanWaitMilliseconds is how long a request was kept waiting before it was served.
	MeanWaitMilliseconds float64 `json:"meanWaitMilliseconds"`
}

var schemaLabels = regexp.MustCompile(`flow_schema="([^"]*)",priority_level="([^"]*)"`)

// flows reads the API server's own count.
func (b *bench) flows(ctx context.Context) ([]Flow, error) {
	counted, err := b.apiServerMetrics(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]Flow{}
	const prefix = "apiserver_flowcontrol_"
	for sample := range counted {
		labels := schemaLabels.FindStringSubmatch(sample)
		if labels == nil || !strings.HasPrefix(sample, prefix+"dispatched_requests_total") && !strings.HasPrefix(sample, prefix+"rejected_requests_total") {
			continue
		}
		flow := Flow{Schema: labels[1], Level: labels[2]}
		flow.Requests = counted.sum(prefix+"dispatched_requests_total", labels[0])
		flow.Rejected = counted.sum(prefix+"rejected_requests_total", labels[0])
		// A request that does not wait is counted with 0.
		if waits := counted.sum(prefix+"request_wait_duration_seconds_count", labels[0]); waits > 0 {
			flow.MeanWaitMilliseconds = 1000 * counted.sum(prefix+"request_wait_duration_seconds_sum", labels[0]) / waits
		}
		found[labels[0]] = flow
	}
	return slices.SortedFunc(func(yield func(Flow) bool) {
		for _, flow := range found {
			if !yield(flow) {
				return
			}
		}
	}, func(a, b Flow) int { return strings.Compare(a.Schema, b.Schema) }), nil
}

func (b *bench) apiServerMetrics(ctx context.Context) (metrics, error) {
	content, err := b.core.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of the API server: %w", err)
	}
	return parseMetrics(string(content)), nil
}

var requestLabels = regexp.MustCompile(`^apiserver_request_total\{code="([0-9]*)".*,resource="([^"]*)".*,subresource="([^"]*)",verb="([^"]*)"`)

// requests counts what was answered between two readings, where it was more than a number.
func requests(before, after metrics, moreThan int) map[string]int {
	counts := map[string]int{}
	for sample, value := range after {
		labels := requestLabels.FindStringSubmatch(sample)
		if labels == nil {
			continue
		}
		name := labels[4] + " " + strings.TrimSuffix(labels[2]+"/"+labels[3], "/")
		if labels[1] >= "400" {
			name += " " + labels[1]
		}
		counts[name] += int(value - before[sample])
	}
	maps.DeleteFunc(counts, func(_ string, count int) bool { return count <= moreThan })
	return counts
}

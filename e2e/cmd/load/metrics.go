package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics are a program's counters at one moment.
type metrics model.Vector

func parseMetrics(text []byte) (metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, slices.Collect(maps.Values(families))...)
	return metrics(samples), err
}

// sum adds the samples of a name with these labels.
func (m metrics) sum(name model.LabelValue, labels model.LabelSet) float64 {
	total := 0.0
samples:
	for _, sample := range m {
		if sample.Metric[model.MetricNameLabel] != name {
			continue
		}
		for label, value := range labels {
			if sample.Metric[label] != value {
				continue samples
			}
		}
		total += float64(sample.Value)
	}
	return total
}

// by adds the samples of a name for each combination of the values of up to four labels.
func (m metrics) by(name model.LabelValue, labels ...model.LabelName) map[[4]string]float64 {
	sums := map[[4]string]float64{}
	for _, sample := range m {
		if sample.Metric[model.MetricNameLabel] != name {
			continue
		}
		var values [4]string
		for i, label := range labels {
			values[i] = string(sample.Metric[label])
		}
		sums[values] += float64(sample.Value)
	}
	return sums
}

// fetch reads a URL.
func fetch(ctx context.Context, by *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := by.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("reading %s: %s: %s", url, response.Status, content)
	}
	return content, err
}

func (b *bench) apiServerMetrics(ctx context.Context) (metrics, error) {
	content, err := b.core.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of the API server: %w", err)
	}
	return parseMetrics(content)
}

// requests counts the answered requests between two readings, by verb and resource, if there were more than a number.
func requests(before, after metrics, moreThan int) map[string]int {
	answered := func(by metrics) map[[4]string]float64 {
		return by.by("apiserver_request_total", "verb", "resource", "subresource", "code")
	}
	counts, earlier := map[string]int{}, answered(before)
	for of, count := range answered(after) {
		name := of[0] + " " + strings.TrimSuffix(of[1]+"/"+of[2], "/")
		if of[3] >= "400" {
			name += " " + of[3]
		}
		counts[name] += int(count - earlier[of])
	}
	maps.DeleteFunc(counts, func(_ string, count int) bool { return count <= moreThan })
	return counts
}

// writes counts the writes between two readings. Leases are left out because they are heartbeats, and reviews because
// they are questions.
func writes(before, after metrics) map[string]int {
	counts := requests(before, after, 0)
	maps.DeleteFunc(counts, func(name string, _ int) bool {
		verb, resource, _ := strings.Cut(name, " ")
		reads := slices.Contains([]string{"GET", "LIST", "WATCH", "CONNECT"}, verb)
		return reads || strings.HasPrefix(resource, "leases") || strings.HasSuffix(resource, "reviews") ||
			resource == "" ||
			strings.HasPrefix(resource, "nodes") || strings.HasPrefix(resource, "serviceaccounts/token")
	})
	return counts
}

// flow has the counters of the API server's flow control for one flow schema.
type flow struct {
	Schema string
	Level  string
	// Requests were served, Rejected were refused because the level was full.
	Requests float64
	Rejected float64
	// MeanWaitMilliseconds is how long a request waited before it was served. A request that did not wait counts with
	// 0.
	MeanWaitMilliseconds float64
}

// flows reads the counters of the API server's flow control.
func flows(counted metrics) []flow {
	of := func(name model.LabelValue) map[[4]string]float64 {
		return counted.by("apiserver_flowcontrol_"+name, "flow_schema", "priority_level")
	}
	served, rejected := of("dispatched_requests_total"), of("rejected_requests_total")
	waited, waits := of("request_wait_duration_seconds_sum"), of("request_wait_duration_seconds_count")
	all := maps.Clone(served)
	maps.Copy(all, rejected)
	var found []flow
	for key := range all {
		made := flow{Schema: key[0], Level: key[1], Requests: served[key], Rejected: rejected[key]}
		if waits[key] > 0 {
			made.MeanWaitMilliseconds = 1000 * waited[key] / waits[key]
		}
		found = append(found, made)
	}
	slices.SortFunc(found, func(a, b flow) int { return strings.Compare(a.Schema+a.Level, b.Schema+b.Level) })
	return found
}

// reconciled has the durations of one controller's reconciles.
type reconciled struct {
	Controller string
	Count      int
	// Median and P99 are bounds of their buckets in the histogram, in milliseconds.
	Median float64
	P99    float64
}

// reconciles reads controller-runtime's histogram between two readings.
func reconciles(before, after metrics) []reconciled {
	buckets := func(by metrics) map[[4]string]float64 {
		return by.by("controller_runtime_reconcile_time_seconds_bucket", "controller", "le")
	}
	earlier, byController := buckets(before), map[string]map[float64]float64{}
	for of, count := range buckets(after) {
		bound, err := strconv.ParseFloat(of[1], 64)
		if err != nil {
			continue
		}
		if byController[of[0]] == nil {
			byController[of[0]] = map[float64]float64{}
		}
		byController[of[0]][bound] = count - earlier[of]
	}
	var found []reconciled
	for _, controller := range slices.Sorted(maps.Keys(byController)) {
		upTo := byController[controller]
		bounds, all := slices.Sorted(maps.Keys(upTo)), upTo[math.Inf(1)]
		quantile := func(q float64) float64 {
			return 1000 * bounds[slices.IndexFunc(bounds, func(bound float64) bool { return upTo[bound] >= q*all })]
		}
		if all > 0 {
			found = append(found, reconciled{controller, int(all), quantile(0.5), quantile(0.99)})
		}
	}
	return found
}

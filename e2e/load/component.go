package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/shared/freeport"
)

func read(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
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

// observed is a cluster and one of its components, which is measured.
type observed struct {
	*bench
	// measured is the component, and others are those that have to rest too before anything has settled.
	measured watched
	others   []watched
	// pprof is a URL of the component.
	pprof string
	// profiles, unless empty, is a directory that receives its profiles.
	profiles string
	// pods are those of the namespace that count, and done is what they are to become.
	pods   *podCounter
	report *OperatorReport
}

// observe brings a dev cluster up that has a component, others that it works with, and no scheduler, does something on it, and takes it down
// again. The values are those of the component's chart, and pods count that have the label and are done as the function says.
func (c Common) observe(
	ctx context.Context, values map[string]any, pods *podCounter, do func(context.Context, *observed) error,
	component string, others ...string,
) (report *OperatorReport, err error) {
	pprof, err := freeport.Port()
	if err != nil {
		return nil, err
	}
	options := devcluster.Options{
		Dir: c.Dir, Nodes: nodes(1), Heartbeat: heartbeat, Progress: c.Progress,
		Components: append([]string{component}, others...),
		Programs:   map[string]string{}, Values: map[string]map[string]any{component: maps.Clone(values)},
	}
	options.Values[component]["extraArgs"] = []any{fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", pprof)}
	if c.Program != "" {
		options.Programs[component] = c.Program
	}
	report = &OperatorReport{Machine: machine(), Date: time.Now().Format(time.DateOnly)}
	seen := &observed{pprof: local(pprof), profiles: c.Profile, pods: pods, report: report}
	if seen.measured, err = metricsOf(component, options.Values[component]); err != nil {
		return nil, err
	}
	for _, other := range others {
		options.Values[other] = map[string]any{}
		program, err := metricsOf(other, options.Values[other])
		if err != nil {
			return nil, err
		}
		seen.others = append(seen.others, program)
	}
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() {
		_, left := devcluster.Down(context.WithoutCancel(ctx), cluster.Dir)
		err = errors.Join(err, left)
	}()
	if seen.bench, err = connect(cluster, Options{Common: c}); err != nil {
		return nil, err
	}
	// Nobody watches any more when the cluster goes.
	working, stop := context.WithCancel(ctx)
	defer stop()
	if err := errors.Join(seen.makeNamespace(working), pods.watch(working, seen.core)); err != nil {
		return nil, err
	}
	return report, do(working, seen)
}

// metricsOf has a component's chart serve metrics where they can be read.
func metricsOf(component string, values map[string]any) (watched, error) {
	port, err := freeport.Port()
	values["metrics"] = map[string]any{"bindAddress": "127.0.0.1", "port": port}
	return watched{program: component, metrics: local(port) + "/metrics"}, err
}

func local(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

// watched is a component whose metrics are read.
type watched struct{ program, metrics string }

// reading is what everybody had counted at a moment. Without a process of the operator it is the API server's count alone.
type reading struct {
	process              int
	operator, apiServer  metrics
	operatorCPU, restCPU time.Duration
	resident, most       int64
}

func (w watched) read(ctx context.Context) (metrics, error) {
	content, err := read(ctx, w.metrics)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", w.program, err)
	}
	return parseMetrics(string(content)), nil
}

func (b *observed) read(ctx context.Context) (r reading, err error) {
	if r.apiServer, err = b.apiServerMetrics(ctx); err != nil {
		return reading{}, err
	}
	if r.restCPU, err = cpuOf(b.cluster.PID("kube-apiserver")); err != nil {
		return reading{}, err
	}
	if r.process = b.cluster.PID(b.measured.program); r.process == 0 {
		return r, nil
	}
	if r.operator, err = b.measured.read(ctx); err != nil {
		return reading{}, err
	}
	if r.operatorCPU, err = cpuOf(r.process); err != nil {
		return reading{}, err
	}
	r.resident, r.most, err = memoryOf(r.process)
	return r, err
}

// idle reports whether no controller works and none has something to do at once.
func (r reading) idle() bool {
	return r.operator.sum("workqueue_depth") == 0 && r.operator.sum("controller_runtime_active_workers") == 0
}

// work is how many reconciles there were, and how many requests the operator made.
func (r reading) work() float64 {
	return r.operator.sum("controller_runtime_reconcile_total") + r.operator.sum("rest_client_requests_total")
}

// writes counts what was written between two readings, by verb and resource. Leases are how the programs of the control plane tell that they live,
// and reviews are questions.
func writes(before, after reading) map[string]int {
	counts := requests(before.apiServer, after.apiServer, 0)
	maps.DeleteFunc(counts, func(name string, _ int) bool {
		verb, resource, _ := strings.Cut(name, " ")
		reads := slices.Contains([]string{"GET", "LIST", "WATCH", "CONNECT"}, verb)
		return reads || strings.HasPrefix(resource, "leases") || strings.HasSuffix(resource, "reviews") || resource == "" ||
			strings.HasPrefix(resource, "nodes") || strings.HasPrefix(resource, "serviceaccounts/token")
	})
	return counts
}

var bucketLabels = regexp.MustCompile(`^controller_runtime_reconcile_time_seconds_bucket\{controller="([^"]*)",le="([^"]*)"\}$`)

// Reconciles says how long those of one controller took.
type Reconciles struct {
	Controller string `json:"controller"`
	Count      int    `json:"count"`
	// Median and P99 are bounds of the histogram's bucket that has them, in milliseconds.
	Median float64 `json:"medianMilliseconds"`
	P99    float64 `json:"p99Milliseconds"`
}

// reconciles reads controller-runtime's histogram between two readings.
func reconciles(before, after reading) []Reconciles {
	type bucket struct{ bound, count float64 }
	byController := map[string][]bucket{}
	for sample, count := range after.operator {
		labels := bucketLabels.FindStringSubmatch(sample)
		if labels == nil {
			continue
		}
		bound, err := strconv.ParseFloat(labels[2], 64)
		if err != nil {
			continue
		}
		byController[labels[1]] = append(byController[labels[1]], bucket{bound, count - before.operator[sample]})
	}
	var found []Reconciles
	for _, controller := range slices.Sorted(maps.Keys(byController)) {
		buckets := byController[controller]
		slices.SortFunc(buckets, func(a, b bucket) int { return int(math.Copysign(1, a.bound-b.bound)) })
		all := buckets[len(buckets)-1].count
		quantile := func(q float64) float64 {
			i := slices.IndexFunc(buckets, func(b bucket) bool { return b.count >= q*all })
			return 1000 * buckets[i].bound
		}
		if all > 0 {
			found = append(found, Reconciles{Controller: controller, Count: int(all), Median: quantile(0.5), P99: quantile(0.99)})
		}
	}
	return found
}

// settle waits until all operators have had nothing to do for two seconds, and returns the moment in which they began to rest.
func (b *observed) settle(ctx context.Context) (time.Time, error) {
	var since time.Time
	var work float64
	err := b.until(ctx, "the operators have come to rest", func(ctx context.Context) (bool, string, error) {
		idle, done, waiting := true, 0.0, 0.0
		for _, operator := range append(b.others, b.measured) {
			counted, err := operator.read(ctx)
			if err != nil {
				return false, "", err
			}
			now := reading{operator: counted}
			idle, done, waiting = idle && now.idle(), done+now.work(), waiting+counted.sum("workqueue_depth")
		}
		// Each renews its lease every two seconds.
		const renewals = 3
		if !idle || done-work > float64(renewals*(1+len(b.others))) {
			since, work = time.Now(), done
		}
		return time.Since(since) > 2*time.Second, fmt.Sprintf("%.0f requests wait", waiting), nil
	})
	return since, err
}

// profile writes a CPU profile of the component's next seconds; what it returns waits for it.
func (b *observed) profile(ctx context.Context, of string, seconds int) func() error {
	if b.profiles == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() { done <- b.save(ctx, of, fmt.Sprintf("profile?seconds=%d", seconds)) }()
	return func() error { return <-done }
}

// heap writes a memory profile of the component.
func (b *observed) heap(ctx context.Context, of string) error {
	if b.profiles == "" {
		return nil
	}
	return b.save(ctx, of+"-heap", "heap")
}

// save writes one of the component's profiles.
func (b *observed) save(ctx context.Context, of, which string) error {
	content, err := read(ctx, b.pprof+"/debug/pprof/"+which)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.profiles, of+".pprof"), content, 0o600)
}

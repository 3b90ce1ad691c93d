package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/shared/freeport"
)

// observed is a cluster with the component that is measured.
type observed struct {
	*bench
	// measured is the component, and others are those that have to be at rest too before the cluster has settled.
	measured watched
	others   []watched
	// pods are those of the namespace that count.
	pods   *counter
	report *operatorReport
}

// observe brings up a dev cluster with a component, others that it works with, and no scheduler, runs a function on it,
// and takes it down again.
func (c common) observe(
	ctx context.Context, pods *counter, do func(context.Context, *observed) error, component string, others ...string,
) (report *operatorReport, err error) {
	options := devcluster.Options{
		Dir: c.Dir, Nodes: nodes(1), Heartbeat: heartbeat, Progress: c.Progress,
		Components: append([]string{component}, others...),
		Values:     map[string]map[string]any{component: {}},
	}
	report = &operatorReport{Machine: machine(), Date: time.Now().Format(time.DateOnly)}
	seen := &observed{pods: pods, report: report}
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
	if seen.bench, err = connect(cluster, c); err != nil {
		return nil, err
	}
	// All watches end before the cluster is taken down.
	working, stop := context.WithCancel(ctx)
	defer stop()
	err = errors.Join(seen.makeNamespace(working), pods.watchPods(working, seen.core.CoreV1().RESTClient()))
	if err != nil {
		return nil, err
	}
	return report, do(working, seen)
}

// metricsOf makes a component's chart serve metrics where they can be read.
func metricsOf(component string, values map[string]any) (watched, error) {
	port, err := freeport.Port()
	values["metrics"] = map[string]any{"bindAddress": "127.0.0.1", "port": port}
	return watched{program: component, metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", port)}, err
}

// watched is a component whose metrics are read.
type watched struct{ program, metrics string }

func (w watched) read(ctx context.Context) (metrics, error) {
	content, err := fetch(ctx, http.DefaultClient, w.metrics)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", w.program, err)
	}
	return parseMetrics(content)
}

// reading are all counters and usages at one moment. Without a process of the operator it has only the API server's.
type reading struct {
	process                   int
	operator, apiServer       metrics
	operatorUse, apiServerUse usage
}

func (b *observed) read(ctx context.Context) (r reading, err error) {
	if r.apiServer, err = b.apiServerMetrics(ctx); err != nil {
		return reading{}, err
	}
	if r.apiServerUse, err = usageOf(b.machine.PID("kube-apiserver")); err != nil {
		return reading{}, err
	}
	if r.process = b.machine.PID(b.measured.program); r.process == 0 {
		return r, nil
	}
	if r.operator, err = b.measured.read(ctx); err != nil {
		return reading{}, err
	}
	r.operatorUse, err = usageOf(r.process)
	return r, err
}

// settle waits until all operators have had nothing to do for two seconds, and returns the moment since which they
// rest.
func (b *observed) settle(ctx context.Context) (time.Time, error) {
	var since time.Time
	var work float64
	err := b.until(ctx, "the operators have come to rest", func(ctx context.Context) (bool, string, error) {
		busy, done := 0.0, 0.0
		for _, operator := range append(b.others, b.measured) {
			counted, err := operator.read(ctx)
			if err != nil {
				return false, "", err
			}
			busy += counted.sum("workqueue_depth", nil) + counted.sum("controller_runtime_active_workers", nil)
			done += counted.sum("controller_runtime_reconcile_total", nil) +
				counted.sum("rest_client_requests_total", nil)
		}
		// Each renews its lease every two seconds.
		const renewals = 3
		if busy > 0 || done-work > float64(renewals*(1+len(b.others))) {
			since, work = time.Now(), done
		}
		return time.Since(since) > 2*time.Second, fmt.Sprintf("%.0f requests wait or are worked on", busy), nil
	})
	return since, err
}

package load

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Run is one workload placed by one scheduler.
type Run struct {
	// PodsPerSecond is from the lease until the last pod is bound.
	PodsPerSecond float64 `json:"podsPerSecond"`
	// CPUSeconds is what the scheduler has computed since its start, which includes reading nodes and pods.
	CPUSeconds float64 `json:"cpuSeconds"`
	// APIServerCPUSeconds is what the API server has computed meanwhile.
	APIServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	// LeaseGapSeconds is the longest time between two renewals of the scheduler's lease.
	LeaseGapSeconds float64 `json:"leaseGapSeconds"`
	// Requests are what the API server answered meanwhile, to anybody, by verb and resource: those for which there was more than one for ten pods.
	Requests map[string]int `json:"requests"`
}

// Row has the runs of one workload by one scheduler.
type Row struct {
	Scheduler string `json:"scheduler"`
	Workload  string `json:"workload"`
	Pods      int    `json:"pods"`
	Runs      []Run  `json:"runs"`
}

// throughput has the schedulers take turns with each workload, and repeats the whole round, every other time in reverse: who comes
// after another one works beside what the API server still does for that.
func (b *bench) throughput(ctx context.Context) ([]*Row, error) {
	type pair struct {
		by scheduler
		w  workload
	}
	pairs := []pair{{unmodified, plain(b.Pods)}, {ours, plain(b.Pods)}}
	for _, size := range b.Gangs {
		pairs = append(pairs, pair{ours, gangs(size, b.Pods)})
	}
	rows := make([]*Row, len(pairs))
	for i, p := range pairs {
		rows[i] = &Row{Scheduler: p.by.program, Workload: p.w.name, Pods: p.w.pods}
	}
	for round := range b.Repeats {
		for turn := range pairs {
			i := turn
			if round%2 == 1 {
				i = len(pairs) - 1 - turn
			}
			p := pairs[i]
			run, err := b.place(ctx, p.by, p.w)
			if err != nil {
				return nil, fmt.Errorf("%s with %s: %w", p.by.program, p.w.name, err)
			}
			rows[i].Runs = append(rows[i].Runs, run)
			b.say("requests: %v", run.Requests)
			b.say("round %d of %d: %s, %s: %.0f pods/s, CPU %.1fs, API server's CPU %.1fs, longest time between renewals of the lease %.1fs",
				round+1, b.Repeats, p.by.program, p.w.name, run.PodsPerSecond, run.CPUSeconds, run.APIServerCPUSeconds, run.LeaseGapSeconds)
		}
	}
	return rows, nil
}

// place creates a workload while no scheduler runs, and measures one.
func (b *bench) place(ctx context.Context, by scheduler, w workload) (run Run, err error) {
	name := b.next()
	groups, pods := w.objects(name, by.takes)
	if err := b.create(ctx, groups, pods); err != nil {
		return run, err
	}
	watched, err := b.watchBindings(ctx, name, len(pods))
	if err != nil {
		return run, err
	}
	apiServer := b.cluster.PID("kube-apiserver")
	before, err := cpuOf(apiServer)
	if err != nil {
		return run, err
	}
	counted, err := b.apiServerMetrics(ctx)
	if err != nil {
		return run, err
	}
	t, err := b.start(ctx, by)
	if err != nil {
		return run, err
	}
	defer func() {
		err = t.end(err)
		if err == nil {
			err = b.clear(ctx)
		}
	}()
	profiled := t.profile(ctx, strings.ReplaceAll(w.name, " ", "-"), 5)
	waiting, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	last, err := watched.all(waiting, t.ended)
	if err != nil {
		return run, t.explain(err)
	}
	after, err := cpuOf(apiServer)
	if err != nil {
		return run, err
	}
	used, err := cpuOf(t.pid)
	if err != nil {
		return run, err
	}
	counts, err := b.apiServerMetrics(ctx)
	if err != nil {
		return run, err
	}
	run = Run{
		Requests:      requests(counted, counts, len(pods)/10),
		PodsPerSecond: float64(len(pods)) / last.Sub(t.began).Seconds(), CPUSeconds: used.Seconds(),
		APIServerCPUSeconds: (after - before).Seconds(), LeaseGapSeconds: t.tenure.gap().Seconds(),
	}
	return run, <-profiled
}

// Starts has the times that gangs took to start.
type Starts struct {
	// Gang is the number of pods.
	Gang int `json:"gang"`
	// Seconds are from the moment in which the API server took the last pod until all were bound.
	Seconds []float64 `json:"seconds"`
}

// starts measures gangs that come one after the other to a scheduler that runs.
func (b *bench) starts(ctx context.Context) (starts Starts, err error) {
	t, err := b.start(ctx, ours)
	if err != nil {
		return starts, err
	}
	defer func() { err = t.end(err) }()
	starts.Gang = b.Gang
	for range b.Repeats {
		took, err := t.startGang(ctx)
		if err != nil {
			return starts, fmt.Errorf("starting a gang of %d: %w", b.Gang, err)
		}
		b.say("a gang of %d: bound %.2fs after the last pod was created", b.Gang, took.Seconds())
		starts.Seconds = append(starts.Seconds, took.Seconds())
		if err := b.clear(ctx); err != nil {
			return starts, err
		}
	}
	return starts, nil
}

func (t *turn) startGang(ctx context.Context) (time.Duration, error) {
	name := t.next()
	groups, pods := gangs(t.Gang, t.Gang).objects(name, t.takes)
	watched, err := t.watchBindings(ctx, name, len(pods))
	if err != nil {
		return 0, err
	}
	if err := t.create(ctx, groups, pods); err != nil {
		return 0, err
	}
	created := time.Now()
	waiting, cancel := context.WithTimeout(ctx, t.Patience)
	defer cancel()
	last, err := watched.all(waiting, t.ended)
	return last.Sub(created), err
}

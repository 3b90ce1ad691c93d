package main

import (
	"context"
	"fmt"
	"time"
)

// podsPerSecond is measured from the moment in which a scheduler holds its lease until the last pod is bound.
const podsPerSecond = "pods/s"

// throughput measures the schedulers in turn with each workload, and repeats the whole round, every other time in
// reverse: the second scheduler runs beside the API server's remaining work for the first.
func (b *schedulersBench) throughput(ctx context.Context) error {
	type pair struct {
		by scheduler
		w  workload
	}
	pairs := []pair{{unmodified, plain(b.options.Pods)}, {ours, plain(b.options.Pods)}}
	for _, size := range b.options.Gangs {
		pairs = append(pairs, pair{ours, gangs(size, b.options.Pods)})
	}
	for round := range b.options.Repeats {
		for turn := range pairs {
			if round%2 == 1 {
				turn = len(pairs) - 1 - turn
			}
			p := pairs[turn]
			if err := b.bind(ctx, p.by, p.w); err != nil {
				return fmt.Errorf("%s with %s: %w", p.by.program, p.w.name, err)
			}
		}
	}
	return nil
}

// bind creates a workload while no scheduler runs, and measures one.
func (b *schedulersBench) bind(ctx context.Context, by scheduler, w workload) error {
	name := b.next()
	bound, err := b.place(ctx, name, w, by)
	if err != nil {
		return err
	}
	apiServer := b.machine.PID("kube-apiserver")
	before, err := usageOf(apiServer)
	if err != nil {
		return err
	}
	counted, err := b.apiServerMetrics(ctx)
	if err != nil {
		return err
	}
	err = b.take(ctx, by, func(ctx context.Context, t *turn) error {
		last, err := bound(ctx)
		if err != nil {
			return err
		}
		after, err := usageOf(apiServer)
		if err != nil {
			return err
		}
		used, err := usageOf(t.pid)
		if err != nil {
			return err
		}
		counts, err := b.apiServerMetrics(ctx)
		if err != nil {
			return err
		}
		answered := requests(counted, counts, w.pods/10)
		b.say("requests: %v", answered)
		for what, count := range answered {
			b.report.add(by, w.name, "requests "+what, float64(count))
		}
		t.add(w.name, podsPerSecond, float64(w.pods)/last.Sub(t.began).Seconds())
		t.add(w.name, "CPU s since the start", used.cpu)
		t.add(w.name, "API server's CPU s", after.cpu-before.cpu)
		t.add(w.name, "longest s between renewals of the lease", t.tenure.gap().Seconds())
		return nil
	})
	if err != nil {
		return err
	}
	return b.clear(ctx, name)
}

// add reports a figure, and prints it.
func (t *turn) add(scenario, figure string, value float64) {
	t.say("%s, %s: %.4g %s", t.program, scenario, value, figure)
	t.report.add(t.scheduler, scenario, figure, value)
}

// starts measures gangs that arrive one after the other at a running scheduler.
func (b *schedulersBench) starts(ctx context.Context) error {
	return b.take(ctx, ours, func(ctx context.Context, t *turn) error {
		for range b.options.Repeats {
			if err := t.startGang(ctx, b.options.Gang); err != nil {
				return fmt.Errorf("starting a gang of %d: %w", b.options.Gang, err)
			}
		}
		return nil
	})
}

func (t *turn) startGang(ctx context.Context, size int) error {
	name, w := t.next(), gangs(size, size)
	bound, err := t.place(ctx, name, w, ours)
	if err != nil {
		return err
	}
	created := time.Now()
	last, err := bound(ctx)
	if err != nil {
		return err
	}
	scenario, took := fmt.Sprintf("a gang of %d", size), last.Sub(created).Seconds()
	t.add(scenario, "s from the last pod's creation until all are bound", took)
	if rate := t.report.unmodified(podsPerSecond); rate > 0 {
		t.add(scenario, "times as long as that many plain pods by kube-scheduler", took*rate/float64(size))
	}
	return t.clear(ctx, name)
}

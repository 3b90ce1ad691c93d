package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podsPerSecond is measured from the moment in which a scheduler holds its lease until the last pod is bound.
const podsPerSecond = "pods/s"

// rounds measures the schedulers in turn with each workload, and repeats the whole round, every other time in reverse:
// the second scheduler runs beside the API server's remaining work for the first.
func (b *bench) rounds(ctx context.Context) error {
	type pair struct {
		by scheduler
		w  workload
	}
	pairs := []pair{{unmodified, plain(b.Pods)}, {ours, plain(b.Pods)}}
	for _, size := range b.Gangs {
		flat := oneDomain(size, b.Pods)
		pairs = append(pairs, pair{ours, gangs(size, b.Pods)}, pair{native, flat}, pair{ours, flat})
	}
	for round := range b.Repeats {
		for turn := range pairs {
			if round%2 == 1 {
				turn = len(pairs) - 1 - turn
			}
			p := pairs[turn]
			if err := b.turn(ctx, p.by, p.w); err != nil {
				return fmt.Errorf("%s with %s: %w; it said last:\n%s", p.by.program, p.w.name, err,
					b.LogLines(p.by.program, "", 20))
			}
		}
	}
	return nil
}

// turn creates a workload while no scheduler runs, and measures one.
func (b *bench) turn(ctx context.Context, by scheduler, w workload) error {
	b.made++
	name := fmt.Sprintf("w%03d", b.made)
	groups, pods := w.objects(name, by)
	if err := b.submit(ctx, groups, pods); err != nil {
		return err
	}
	if err := b.measure(ctx, by, w, name); err != nil {
		return err
	}
	return b.clear(ctx, name)
}

// measure runs a scheduler until a workload is bound. kube-scheduler reads everything before it asks for its lease.
func (b *bench) measure(ctx context.Context, by scheduler, w workload, name string) (err error) {
	lease, err := b.newLease(ctx, by)
	if err != nil {
		return err
	}
	apiServer := b.Machine.PID("kube-apiserver")
	before, err := computedBy(apiServer)
	if err != nil {
		return err
	}
	if err := b.Machine.Start(ctx, by.program); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Machine.Stop(context.WithoutCancel(ctx), by.program)) }()
	last, err := b.bound(ctx, by, name, w.pods)
	if err != nil {
		return err
	}
	after, unread := computedBy(apiServer)
	computed, unreadToo := computedBy(b.Machine.PID(by.program))
	if err := errors.Join(unread, unreadToo, b.Get(ctx, client.ObjectKeyFromObject(lease), lease)); err != nil {
		return err
	}
	if lease.Spec.AcquireTime == nil {
		return errors.New("the lease has no holder")
	}
	for figure, value := range map[string]float64{
		podsPerSecond:           float64(w.pods) / last.Sub(lease.Spec.AcquireTime.Time).Seconds(),
		"CPU s since the start": computed,
		"API server's CPU s":    after - before,
	} {
		b.measured(by, w.name, figure, value)
	}
	return nil
}

// bound waits until all pods of a workload have a node, and returns the moment in which the last one got it. It fails
// when the scheduler ends.
func (b *bench) bound(ctx context.Context, by scheduler, workload string, pods int) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := b.Machine.Ended(by.program)
	go func() {
		select {
		case <-ended:
			stop(errors.New("it ended"))
		case <-ctx.Done():
		}
	}()
	count, source := 0, b.bindings(workload)
	_, err := watchtools.UntilWithSync(ctx, source, &corev1.Pod{}, nil, func(event watch.Event) (bool, error) {
		if event.Type == watch.Added {
			count++
		}
		return count == pods, nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("%d of %d pods are bound: %w", count, pods, errors.Join(err, context.Cause(ctx)))
	}
	return time.Now(), nil
}

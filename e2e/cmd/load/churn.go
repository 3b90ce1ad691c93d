package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
)

// churn measures the schedulers in a busy cluster: so many pods a second end, plain ones of the same size come, and
// gangs wait for whole nodes, which never become free. For the unmodified scheduler these are pods without a gang. Ours
// is the first, as its figures have targets: what a turn leaves in the API server and etcd slows the next one.
func (b *bench) churn(ctx context.Context) error {
	for _, by := range []scheduler{ours, unmodified, native} {
		name := "churn-" + by.program
		if err := b.churnBy(ctx, by, name); err != nil {
			return fmt.Errorf("%s: %w", by.program, err)
		}
		if err := b.clear(ctx, waiting(name)); err != nil {
			return err
		}
	}
	return nil
}

// waiting is the name of the workload of gangs that wait.
func waiting(name string) string { return name + "-waits" }

func (b *bench) churnBy(ctx context.Context, by scheduler, name string) error {
	scenario := fmt.Sprintf("%d pods/s end, %d gangs wait", b.Ending, b.Waiting)
	standing, err := b.fill(ctx, by, name)
	if err != nil {
		return err
	}
	lease, err := b.newLease(ctx, by)
	if err != nil {
		return err
	}
	if err := b.Machine.Start(ctx, by.program); err != nil {
		return err
	}
	err = b.until(ctx, by.program+" schedules", func(ctx context.Context) (bool, string, error) {
		err := client.IgnoreNotFound(b.Get(ctx, client.ObjectKeyFromObject(lease), lease))
		return lease.Spec.AcquireTime != nil, "it has not got its lease", err
	})
	if err != nil {
		return err
	}
	pid := b.Machine.PID(by.program)
	if err := b.settle(ctx, by.program); err != nil {
		return err
	}
	before, err := computedBy(pid)
	if err != nil {
		return err
	}
	began := time.Now()
	waits, samples, err := b.replace(ctx, by, name, pid, standing)
	if err != nil {
		return err
	}
	if len(waits) == 0 {
		return fmt.Errorf("no pod got a node; the scheduler said last:\n%s", b.LogLines(by.program, "", 20))
	}
	elapsed := time.Since(began).Seconds()
	after, err := computedBy(pid)
	if err != nil {
		return err
	}
	slices.Sort(waits)
	tenth := (len(samples) + 9) / 10
	for figure, value := range map[string]float64{
		"CPU, % of a core":          100 * (after - before) / elapsed,
		"pods/s":                    float64(len(waits)) / elapsed,
		"MiB, first tenth":          slices.Max(samples[:tenth]),
		"MiB, last tenth":           slices.Max(samples[len(samples)-tenth:]),
		"pods without a node":       float64(b.Ending*int(b.For.Seconds()) - len(waits)),
		"ms until bound, median":    float64(waits[len(waits)/2].Milliseconds()),
		"ms until bound, 99 of 100": float64(waits[len(waits)*99/100].Milliseconds()),
	} {
		b.measured(by, scenario, figure, value)
	}
	return b.Machine.Stop(ctx, by.program)
}

// settle waits until a scheduler has tried all gangs and rests. One that tries them again and again never does.
func (b *bench) settle(ctx context.Context, program string) error {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := b.quiet(limited, program); limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	b.say("%s does not rest", program)
	return nil
}

// busy is how many GPUs of each node are in use.
const busy = gpusPerNode * 3 / 4

// fill has plain pods on three quarters of the GPUs, and gangs that wait. It returns the pods in an order in which no
// node becomes free.
func (b *bench) fill(ctx context.Context, by scheduler, name string) (standing []*corev1.Pod, err error) {
	for gpu := range busy {
		for i, node := range nodes(b.Nodes) {
			pod := podOf(name, fmt.Sprintf("%s-%05d-%d", name, i, gpu), by.takes)
			pod.Spec.NodeName = node.Name
			standing = append(standing, pod)
		}
	}
	if err := createAll(ctx, b, standing); err != nil {
		return nil, err
	}
	w := oneDomain(2, 2*b.Waiting)
	groups, pods := w.objects(waiting(name), by)
	for _, pod := range pods {
		whole := pod.Spec.Containers[0].Resources
		whole.Requests[live.GPU] = *resource.NewQuantity(gpusPerNode, resource.DecimalSI)
	}
	return standing, b.submit(ctx, groups, pods)
}

// replace has pods end and others come, and returns how long each of these waited for its node, and with each the MiB
// of memory of a process. Pods that have none a minute after the last one came are left out: the scheduler lags behind,
// or they ended before.
func (b *bench) replace(
	ctx context.Context, by scheduler, name string, pid int, standing []*corev1.Pod,
) (waits []time.Duration, samples []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	total := b.Ending * int(b.For.Seconds())
	var mutex sync.Mutex
	made, bound := map[string]time.Time{}, make(chan error, 1)
	go func() {
		source := b.bindings(name + "-new")
		_, err := watchtools.UntilWithSync(ctx, source, &corev1.Pod{}, nil, func(event watch.Event) (bool, error) {
			if event.Type != watch.Added {
				return false, nil
			}
			mutex.Lock()
			defer mutex.Unlock()
			waits = append(waits, time.Since(made[event.Object.(*corev1.Pod).Name]))
			resident, err := residentOf(pid)
			samples = append(samples, resident)
			return len(waits) == total, err
		})
		bound <- err
	}()
	tick := time.NewTicker(time.Second / time.Duration(b.Ending))
	defer tick.Stop()
	numbers := make([]int, total)
	for i := range numbers {
		numbers[i] = i
	}
	err = parallel(ctx, numbers, func(ctx context.Context, i int) error {
		<-tick.C
		pod := podOf(name+"-new", fmt.Sprintf("%s-new-%05d", name, i), by.takes)
		gone := pod.DeepCopy()
		if gone.Name = fmt.Sprintf("%s-new-%05d", name, i-len(standing)); i < len(standing) {
			gone = standing[i]
		}
		if err := b.all.Delete(ctx, gone, client.GracePeriodSeconds(0)); err != nil {
			return fmt.Errorf("ending a pod: %w", err)
		}
		mutex.Lock()
		made[pod.Name] = time.Now()
		mutex.Unlock()
		return b.all.Create(ctx, pod)
	})
	if err != nil {
		return nil, nil, err
	}
	select {
	case err = <-bound:
	case <-time.After(time.Minute):
		cancel()
		if err = <-bound; wait.Interrupted(err) {
			err = nil
		}
	}
	return waits, samples, err
}

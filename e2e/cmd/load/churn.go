package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
)

// churn measures our scheduler in a busy cluster: so many pods a second end, plain ones of the same size come, and
// gangs wait for whole nodes, which never become free.
func (b *bench) churn(ctx context.Context) (err error) {
	const name = "churn"
	scenario := fmt.Sprintf("%d pods/s end, %d gangs wait", b.Ending, b.Waiting)
	standing, err := b.fill(ctx, name)
	if err != nil {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ours.leaseNamespace, Name: ours.lease}}
	if err := client.IgnoreNotFound(b.Delete(ctx, lease)); err != nil {
		return fmt.Errorf("deleting the lease: %w", err)
	}
	if err := b.Machine.Start(ctx, ours.program); err != nil {
		return err
	}
	pid := b.Machine.PID(ours.program)
	if err := b.quiet(ctx, ours.program); err != nil {
		return err
	}
	before, err := computedBy(pid)
	if err != nil {
		return err
	}
	began, memory := time.Now(), memoryOf(ctx, pid)
	waits, err := b.replace(ctx, name, standing)
	samples := memory()
	if err != nil {
		return err
	}
	if len(waits) == 0 {
		return fmt.Errorf("no pod got a node; the scheduler said last:\n%s", b.LogLines(ours.program, "", 20))
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
		b.say("%s: %.4g %s", scenario, value, figure)
		b.report.add(ours, scenario, figure, value)
	}
	return b.Machine.Stop(ctx, ours.program)
}

// busy is how many GPUs of each node are in use.
const busy = gpusPerNode * 3 / 4

// memoryOf reads how many MiB of memory a process has, every second. What it returns ends that, and has the readings.
func memoryOf(ctx context.Context, pid int) func() []float64 {
	ctx, stop := context.WithCancel(ctx)
	var readings []float64
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, func(context.Context) {
			if resident, err := residentOf(pid); err == nil {
				readings = append(readings, resident)
			}
		}, time.Second)
	}()
	return func() []float64 {
		stop()
		<-done
		return readings
	}
}

// fill has plain pods on three quarters of the GPUs, and gangs that wait. It returns the pods in an order in which no
// node becomes free.
func (b *bench) fill(ctx context.Context, name string) (standing []*corev1.Pod, err error) {
	for gpu := range busy {
		for i, node := range nodes(b.Nodes) {
			pod := podOf(name, fmt.Sprintf("%s-%05d-%d", name, i, gpu), ours.takes)
			pod.Spec.NodeName = node.Name
			standing = append(standing, pod)
		}
	}
	if err := createAll(ctx, b, standing); err != nil {
		return nil, err
	}
	w := oneDomain(2, 2*b.Waiting)
	groups, pods := w.objects(name+"-waits", ours)
	for _, pod := range pods {
		whole := pod.Spec.Containers[0].Resources
		whole.Requests[live.GPU] = *resource.NewQuantity(gpusPerNode, resource.DecimalSI)
	}
	if err := createAll(ctx, b, groups); err != nil {
		return nil, err
	}
	return standing, createAll(ctx, b, pods)
}

// replace has pods end and others come, and returns how long each of these waited for its node. Pods that have none
// when as much time has passed again are left out: the scheduler lags behind, or they ended before.
func (b *bench) replace(ctx context.Context, name string, standing []*corev1.Pod) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	total := b.Ending * int(b.For.Seconds())
	var mutex sync.Mutex
	made, waits := map[string]time.Time{}, make([]time.Duration, 0, total)
	source := cache.NewFilteredListWatchFromClient(b.core.CoreV1().RESTClient(), "pods", namespace,
		func(o *metav1.ListOptions) {
			o.LabelSelector, o.FieldSelector = runLabel+"="+name+"-new", "spec.nodeName!="
		})
	bound := make(chan error, 1)
	go func() {
		_, err := watchtools.UntilWithSync(ctx, source, &corev1.Pod{}, nil, func(event watch.Event) (bool, error) {
			if event.Type != watch.Added {
				return false, nil
			}
			mutex.Lock()
			defer mutex.Unlock()
			waits = append(waits, time.Since(made[event.Object.(*corev1.Pod).Name]))
			return len(waits) == total, nil
		})
		bound <- err
	}()
	tick := time.NewTicker(time.Second / time.Duration(b.Ending))
	defer tick.Stop()
	numbers := make([]int, total)
	for i := range numbers {
		numbers[i] = i
	}
	err := parallel(ctx, numbers, func(ctx context.Context, i int) error {
		<-tick.C
		pod := podOf(name+"-new", fmt.Sprintf("%s-new-%05d", name, i), ours.takes)
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
		return nil, err
	}
	select {
	case err = <-bound:
	case <-time.After(time.Minute):
		cancel()
		if err = <-bound; wait.Interrupted(err) {
			err = nil
		}
	}
	return waits, err
}

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// writers is how many requests are in flight while pods are created.
const writers = 16

// bench is the cluster of the measurements.
type bench struct {
	options
	*live.Own
	// all sends requests without a limit, and core watches.
	all    *live.Cluster
	core   kubernetes.Interface
	report *report
	began  time.Time
	// made counts the workloads, so that each has its own name.
	made int
}

// up brings the cluster up with our scheduler from its chart. The leases of nodes are not renewed meanwhile: these are
// hundreds of requests a second for 5,000 nodes.
func up(ctx context.Context, o options) (*bench, error) {
	if err := buildReference(ctx); err != nil {
		return nil, err
	}
	b := &bench{options: o, began: time.Now(), report: &report{
		Machine: machine(), Date: time.Now().Format(time.DateOnly), Nodes: o.Nodes, QPS: o.QPS,
	}}
	var err error
	b.Own, err = live.BringUp(ctx, devcluster.Options{
		Nodes: nodes(o.Nodes), Heartbeat: 4 * time.Hour, Components: []string{ours.program},
		APIServer: []string{"--feature-gates=" + nativeGates, "--runtime-config=scheduling.k8s.io/v1alpha2=true"},
		Values: map[string]map[string]any{ours.program: {
			"clientConnection": map[string]any{"qps": o.QPS, "burst": o.QPS},
			// Elsewhere the lease says from when on it schedules. A busy machine may lose one.
			"leaderElection": map[string]any{"enabled": o.Queued == 0},
		}},
	})
	return b, err
}

// prepare starts the schedulers of Kubernetes, which shows that they can, stops all, and creates what workloads need.
func (b *bench) prepare(ctx context.Context) (err error) {
	unlimited := rest.CopyConfig(b.Server)
	unlimited.QPS = -1
	if b.all, err = live.Connect(unlimited); err != nil {
		return err
	}
	if b.core, err = kubernetes.NewForConfig(unlimited); err != nil {
		return err
	}
	for _, reference := range []scheduler{unmodified, native} {
		if err := b.runReference(ctx, reference); err != nil {
			return err
		}
		if err := b.Machine.Stop(ctx, reference.program); err != nil {
			return err
		}
	}
	for _, program := range []string{ours.program, "kwok"} {
		if err := b.Machine.Stop(ctx, program); err != nil {
			return err
		}
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	for _, object := range []client.Object{topology(), space} {
		if err := b.Create(ctx, object); err != nil {
			return err
		}
	}
	return b.until(ctx, "the namespace takes pods", b.NamespaceTakesPods(namespace))
}

// measured reports a value of a figure.
func (b *bench) measured(by scheduler, scenario, figure string, value float64) {
	b.say("%s, %s: %.4g %s", by.program, scenario, value, figure)
	b.report.add(by, scenario, figure, value)
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(progress, "%6.0fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// until waits as long as the options allow.
func (b *bench) until(ctx context.Context, what string, look live.Look) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	return live.Wait(ctx, what, look)
}

func parallel[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// createAll creates objects, many at once, and returns when the last one is accepted.
func createAll[T client.Object](ctx context.Context, b *bench, objects []T) error {
	return parallel(ctx, objects, func(ctx context.Context, object T) error {
		if err := b.all.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
		return nil
	})
}

// submit creates groups, and then their pods.
func (b *bench) submit(ctx context.Context, groups []client.Object, pods []*corev1.Pod) error {
	if err := createAll(ctx, b, groups); err != nil {
		return err
	}
	return createAll(ctx, b, pods)
}

// bindings are the pods of a workload that have a node. Pods that have none yet enter a watch with the event of their
// binding, and no other pod is sent.
func (b *bench) bindings(workload string) cache.ListerWatcher {
	return cache.NewFilteredListWatchFromClient(b.core.CoreV1().RESTClient(), "pods", namespace,
		func(o *metav1.ListOptions) {
			o.LabelSelector, o.FieldSelector = runLabel+"="+workload, "spec.nodeName!="
		})
}

// newLease deletes the old lease of a scheduler, so that there is no wait for its end.
func (b *bench) newLease(ctx context.Context, of scheduler) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: of.leaseNamespace, Name: of.lease}}
	return lease, client.IgnoreNotFound(b.Delete(ctx, lease))
}

// clear deletes the groups and pods of one workload, and returns when they are gone and the API server rests.
func (b *bench) clear(ctx context.Context, workload string) error {
	its := []client.DeleteAllOfOption{client.InNamespace(namespace), client.MatchingLabels{runLabel: workload}}
	for _, kind := range []client.Object{&scheduling.PodGroup{}, &schedulingv1alpha2.PodGroup{}} {
		if err := b.all.DeleteAllOf(ctx, kind, its...); err != nil {
			return fmt.Errorf("deleting what was placed: %w", err)
		}
	}
	var pods corev1.PodList
	if err := b.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return err
	}
	// One by one: the API server would delete a collection sequentially.
	err := parallel(ctx, pods.Items, func(ctx context.Context, pod corev1.Pod) error {
		return client.IgnoreNotFound(b.all.Delete(ctx, &pod, client.GracePeriodSeconds(0)))
	})
	if err != nil {
		return fmt.Errorf("deleting what was placed: %w", err)
	}
	return b.quiet(ctx, "kube-apiserver")
}

// quiet waits until a program has computed little for two seconds: what the API server still does for one turn would
// disturb the next one.
func (b *bench) quiet(ctx context.Context, program string) error {
	const little = 0.2
	before, busy := 0.0, time.Now()
	return b.until(ctx, program+" rests", func(context.Context) (bool, string, error) {
		computed, err := computedBy(b.Machine.PID(program))
		if computed-before > little {
			before, busy = computed, time.Now()
		}
		return time.Since(busy) > 2*time.Second, fmt.Sprintf("it has computed for %.1f s", computed), err
	})
}

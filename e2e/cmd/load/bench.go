package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	// writers is how many requests are in flight while pods are created.
	writers = 16
	// heartbeat keeps the renewals of the nodes' leases, five hundred a second for 5,000 nodes, out of the measurement.
	heartbeat = 4 * time.Hour
)

// bench is the cluster of a measurement.
type bench struct {
	common
	*live.Cluster
	machine *devcluster.Cluster
	config  *rest.Config
	// core watches, and reads the API server's metrics.
	core  kubernetes.Interface
	began time.Time
}

func connect(machine *devcluster.Cluster, c common) (*bench, error) {
	config, err := clientcmd.BuildConfigFromFlags("", machine.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", machine.Kubeconfig, err)
	}
	config.QPS = -1
	// A thousand sets would get the same warnings.
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, rest.NoWarnings{}
	b := &bench{common: c, machine: machine, config: config, began: time.Now()}
	if b.Cluster, err = live.Connect(config); err != nil {
		return nil, err
	}
	b.core, err = kubernetes.NewForConfig(config)
	return b, err
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.Progress, "%6.0fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

func (b *bench) makeNamespace(ctx context.Context) error {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := b.Create(ctx, space); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	return b.until(ctx, "the namespace takes pods", b.NamespaceTakesPods(namespace))
}

// until waits as long as the options allow.
func (b *bench) until(ctx context.Context, what string, look live.Look) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	return live.Wait(ctx, what, look)
}

// createAll creates objects, many at once, and returns when the last one is accepted.
func createAll[T client.Object](ctx context.Context, b *bench, objects []T) error {
	return parallel(ctx, objects, func(ctx context.Context, object T) error {
		if err := b.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
		return nil
	})
}

// merge changes an object by a merge patch.
func (b *bench) merge(ctx context.Context, object client.Object, patch string, arguments ...any) error {
	change := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, patch, arguments...))
	if err := b.Patch(ctx, object, change); err != nil {
		return fmt.Errorf("changing %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

func parallel[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// clear deletes the PodGroups and pods of one workload, and returns when they are gone and no program works on them any
// more.
func (b *bench) clear(ctx context.Context, workload string) error {
	its := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{runLabel: workload}}
	var pods corev1.PodList
	err := errors.Join(
		b.DeleteAllOf(ctx, &scheduling.PodGroup{}, client.InNamespace(namespace),
			client.MatchingLabels{runLabel: workload}),
		b.List(ctx, &pods, its...),
	)
	if err != nil {
		return fmt.Errorf("deleting what was placed: %w", err)
	}
	// One by one: the API server would delete a collection sequentially.
	err = parallel(ctx, pods.Items, func(ctx context.Context, pod corev1.Pod) error {
		return client.IgnoreNotFound(b.Delete(ctx, &pod, client.GracePeriodSeconds(0)))
	})
	if err != nil {
		return fmt.Errorf("deleting what was placed: %w", err)
	}
	err = b.until(ctx, "all pods are gone", func(ctx context.Context) (bool, string, error) {
		err := b.List(ctx, &pods, append(its, client.Limit(1))...)
		return len(pods.Items) == 0, "pods are left", err
	})
	if err != nil {
		return err
	}
	return b.quiet(ctx)
}

// quiet waits until there are no more requests about pods: KWOK still works on deleted pods, which would disturb the
// next measurement.
func (b *bench) quiet(ctx context.Context) error {
	var before float64
	var busy time.Time
	return b.until(ctx, "KWOK has come to rest", func(ctx context.Context) (bool, string, error) {
		counted, err := b.apiServerMetrics(ctx)
		if err != nil {
			return false, "", err
		}
		const watchesAndTheLike = 6
		all := counted.sum("apiserver_request_total", model.LabelSet{"resource": "pods"})
		asked := all - before
		if asked > watchesAndTheLike {
			before, busy = all, time.Now()
		}
		return time.Since(busy) > time.Second, fmt.Sprintf("%.0f requests about pods in the last moment", asked), nil
	})
}

package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/devcluster"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/client/clientset/versioned"
)

const (
	// writers is how many requests are under way while pods are created.
	writers = 16
	// heartbeat keeps the nodes' leases, five hundred renewals a second of 5,000 nodes, out of what is measured.
	heartbeat = 4 * time.Hour
)

// bench is the cluster that things are measured on.
type bench struct {
	Options
	cluster *devcluster.Cluster
	config  *rest.Config
	core    kubernetes.Interface
	kai     versioned.Interface
	began   time.Time
	// made counts the workloads, so that each has names of its own.
	made int
}

func connect(cluster *devcluster.Cluster, o Options) (*bench, error) {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", cluster.Kubeconfig, err)
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // A thousand sets would be warned of the same.
	b := &bench{Options: o, cluster: cluster, config: config, began: time.Now()}
	if b.kai, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	binary := rest.CopyConfig(config)
	binary.ContentType = runtime.ContentTypeProtobuf
	b.core, err = kubernetes.NewForConfig(binary)
	return b, err
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.Progress, "%6.0fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// prepare makes what pods need before there can be any.
func (b *bench) prepare(ctx context.Context) error {
	if _, err := b.kai.KaiV1alpha1().Topologies().Create(ctx, topology(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the topology: %w", err)
	}
	return b.makeNamespace(ctx)
}

func (b *bench) makeNamespace(ctx context.Context) error {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := b.core.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	return b.until(ctx, "the namespace has its default service account", func(ctx context.Context) (bool, string, error) {
		_, err := b.core.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, "it has none", nil
		}
		return err == nil, "", err
	})
}

// until looks every half second.
func (b *bench) until(ctx context.Context, what string, look func(context.Context) (bool, string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	for {
		done, state, err := look(ctx)
		if done && err == nil {
			return nil
		}
		if err != nil {
			state = err.Error()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w; last seen: %s", what, context.Cause(ctx), state)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// create writes PodGroups first and then pods, and returns when the last pod was taken.
func (b *bench) create(ctx context.Context, groups []*scheduling.PodGroup, pods []*corev1.Pod) error {
	err := parallel(ctx, groups, func(ctx context.Context, group *scheduling.PodGroup) error {
		_, err := b.kai.SchedulingV2alpha2().PodGroups(namespace).Create(ctx, group, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("creating PodGroups: %w", err)
	}
	err = parallel(ctx, pods, func(ctx context.Context, pod *corev1.Pod) error {
		_, err := b.core.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("creating pods: %w", err)
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

// clear removes all PodGroups and pods, and returns when they are gone.
func (b *bench) clear(ctx context.Context) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	pods, groups := b.core.CoreV1().Pods(namespace), b.kai.SchedulingV2alpha2().PodGroups(namespace)
	err := errors.Join(
		groups.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
		b.removePods(ctx, now),
	)
	if err != nil {
		return fmt.Errorf("deleting what was placed: %w", err)
	}
	err = b.until(ctx, "all pods are gone", func(ctx context.Context) (bool, string, error) {
		left, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return false, "", err
		}
		return len(left.Items) == 0, "pods are left", nil
	})
	if err != nil {
		return err
	}
	return b.quiet(ctx)
}

// quiet waits until nobody asks anything about pods any more: KWOK still works on those that are gone, at the cost of whoever is measured
// next.
func (b *bench) quiet(ctx context.Context) error {
	var before metrics
	return b.until(ctx, "KWOK has come to rest", func(ctx context.Context) (bool, string, error) {
		now, err := b.apiServerMetrics(ctx)
		if err != nil {
			return false, "", err
		}
		asked := now.sum("apiserver_request_total", `resource="pods"`) - before.sum("apiserver_request_total", `resource="pods"`)
		first := before == nil
		before = now
		const watchesAndTheLike = 3
		return !first && asked <= watchesAndTheLike, fmt.Sprintf("%.0f requests about pods in the last moment", asked), nil
	})
}

// removePods deletes pods one by one: the API server would take a collection one after the other.
func (b *bench) removePods(ctx context.Context, options metav1.DeleteOptions) error {
	list, err := b.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	return parallel(ctx, list.Items, func(ctx context.Context, pod corev1.Pod) error {
		err := b.core.CoreV1().Pods(namespace).Delete(ctx, pod.Name, options)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// next gives a workload a name that was not used before.
func (b *bench) next() string {
	b.made++
	return fmt.Sprintf("w%03d", b.made)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// await returns nil once it has seen every parent with its minimum at the same time, and an error when the context ends
// before. It survives any outage of the API server. It logs the counts, and errors of the connection.
func await(ctx context.Context, from connection, parents []layout.Parent, log *slog.Logger) error {
	client, codec, err := from.client()
	if err != nil {
		return err
	}
	selector, err := selectorOf(parents)
	if err != nil {
		return err
	}
	list := &lister{client: client, codec: codec, namespace: from.Namespace, selector: selector.String(), log: log}
	seen := &store{progress: progressOf(parents), parents: parents, log: log, met: make(chan struct{})}
	// The lister logs the reflector's errors, in words for the user of a pod.
	silent := logr.Discard()
	reflector := cache.NewReflectorWithOptions(list.watcher(), &corev1.Pod{}, seen,
		cache.ReflectorOptions{Name: "parents", Logger: &silent})
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, silent))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		reflector.RunWithContext(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	select {
	case <-seen.met:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: %w", selector, context.Cause(ctx))
	}
}

// selectorOf selects exactly the pods of the parents.
func selectorOf(parents []layout.Parent) (labels.Selector, error) {
	var podCliques []string
	for _, parent := range parents {
		podCliques = append(podCliques, parent.PodClique)
	}
	requirement, err := labels.NewRequirement(grovev1alpha1.LabelPodClique, selection.In, podCliques)
	if err != nil {
		return nil, fmt.Errorf("selecting pods: %w", err)
	}
	return labels.NewSelector().Add(*requirement), nil
}

// pageSize is how many whole pods are in memory at once.
const pageSize = 100

// lister lists and watches the pods of a selector, and logs errors.
type lister struct {
	client              *rest.RESTClient
	codec               runtime.ParameterCodec
	namespace, selector string
	log                 *slog.Logger
}

func (l *lister) watcher() cache.ListerWatcher {
	return &cache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch}
}

// list lists page by page, whatever the reflector asks for, and strips each page: API servers that do not stream lists
// send them whole, and the pods may be large and many.
func (l *lister) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	all := &corev1.PodList{}
	options.ResourceVersion, options.ResourceVersionMatch, options.Continue, options.Limit = "", "", "", pageSize
	for {
		page := &corev1.PodList{}
		if err := l.request(options).Do(ctx).Into(page); err != nil {
			l.report(ctx, "listing", err)
			return nil, err
		}
		for i := range page.Items {
			all.Items = append(all.Items, *bare(&page.Items[i]))
		}
		all.ListMeta = metav1.ListMeta{ResourceVersion: page.ResourceVersion}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

func (l *lister) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	stream, err := l.request(options).Watch(ctx)
	l.report(ctx, "watching", err)
	return stream, err
}

func (l *lister) request(options metav1.ListOptions) *rest.Request {
	options.LabelSelector = l.selector
	return l.client.Get().Namespace(l.namespace).Resource("pods").VersionedParams(&options, l.codec)
}

func (l *lister) report(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		l.log.Warn(doing+" pods failed, will be tried again", "error", err)
	}
}

// Package nativewatch follows the PodGroups and CompositePodGroups of Kubernetes, and shows each gang of them as a
// PodGroup of ours.
package nativewatch

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	kailisters "packtree.dev/shared/client/listers/kai/v1alpha1"
	schedulinglisters "packtree.dev/shared/client/listers/scheduling/v2alpha2"
)

// Changed is told what a gang was and is, nil where there was or is none.
type Changed func(before, after *scheduling.PodGroup)

// Watch has the gangs of all groups. The zero value has none, and may be used by several at once.
type Watch struct {
	started sync.Once
	forest  nativegroups.Forest
	// mu orders changes of gangs. Readers do not hold it.
	mu         sync.Mutex
	gangs      cache.Indexer
	topologies kailisters.TopologyLister
	changed    []Changed
	membership *membership
}

// Start reads all groups, and has the pods of kube-scheduler's cache join their gangs, which has not been started yet.
// Pods are written once leading is closed. A cluster that does not serve the kinds has no groups, and nothing is done.
// Further calls do nothing.
func (w *Watch) Start(
	ctx context.Context, client dynamic.Interface, kube kubernetes.Interface, pods cache.SharedIndexInformer,
	leading <-chan struct{},
) (err error) {
	w.started.Do(func() {
		var kinds []schema.GroupVersionKind
		if kinds, err = served(kube.Discovery()); err != nil || len(kinds) == 0 {
			return
		}
		w.gangs = cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		if err = w.members(ctx, kube, pods, leading); err == nil {
			err = w.follow(ctx, client, kinds)
		}
	})
	return err
}

// served returns the versions of the kinds that an API server serves.
func served(client discovery.DiscoveryInterface) (served []schema.GroupVersionKind, err error) {
	found := map[string]bool{}
	for _, version := range nativegroups.Versions {
		group := schema.GroupVersion{Group: nativegroups.APIGroup, Version: version}
		resources, err := client.ServerResourcesForGroupVersion(group.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("asking for the kinds of %s: %w", group, err)
		}
		for _, kind := range nativegroups.Kinds {
			for _, resource := range resources.APIResources {
				if resource.Kind == kind.Kind && !found[kind.Kind] && resource.Name == plural(kind) {
					found[kind.Kind] = true
					served = append(served, kind.WithVersion(version))
				}
			}
		}
	}
	return served, nil
}

// plural is the name of a kind's resource, without those of its subresources.
func plural(kind schema.GroupKind) string {
	return nativegroups.ResourceOf(kind.WithVersion("")).Resource
}

// follow reads the groups of the kinds, and returns when all that there are were read.
func (w *Watch) follow(ctx context.Context, client dynamic.Interface, kinds []schema.GroupVersionKind) error {
	var synced []cache.InformerSynced
	for _, kind := range kinds {
		informer := dynamicinformer.NewFilteredDynamicInformer(client, nativegroups.ResourceOf(kind),
			metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
		registration, err := informer.AddEventHandler(w.handler())
		if err != nil {
			return fmt.Errorf("following %s: %w", kind.Kind, err)
		}
		synced = append(synced, registration.HasSynced)
		go informer.RunWithContext(ctx)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("reading the groups of %s: %w", nativegroups.APIGroup, context.Cause(ctx))
	}
	return nil
}

func (w *Watch) handler() cache.ResourceEventHandler {
	return ganglister.Handler(func(before, after *unstructured.Unstructured, _ bool) {
		if after == nil {
			ref := nativegroups.Ref{Kind: before.GetKind(), Namespace: before.GetNamespace(), Name: before.GetName()}
			w.change(ref, func() { w.forest.Remove(ref) })
			return
		}
		group, err := nativegroups.Read(after)
		if err != nil {
			klog.Background().Error(err, "Reading a group")
			return
		}
		w.change(group.Ref(), func() { w.forest.Set(group) })
	})
}

// change changes a group, and tells what becomes of the gangs that it was and is part of.
func (w *Watch) change(ref nativegroups.Ref, how func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.forest.Root(ref)
	how()
	after := w.forest.Root(ref)
	w.translate(before)
	if after != before {
		w.translate(after)
		w.membership.moved(before)
	}
}

// translate brings a gang up to date.
func (w *Watch) translate(root nativegroups.Ref) {
	var before *scheduling.PodGroup
	if known, exists, err := w.gangs.GetByKey(root.Namespace + "/" + root.GangName()); err == nil && exists {
		before = known.(*scheduling.PodGroup)
	}
	after := w.forest.Gang(root, w.with)
	if equality.Semantic.DeepEqual(before, after) {
		return
	}
	var err error
	if after != nil {
		err = w.gangs.Update(after)
	} else {
		err = w.gangs.Delete(before)
	}
	if err != nil {
		klog.Background().Error(err, "Keeping a gang", "gang", root)
		return
	}
	for _, changed := range w.changed {
		changed(before, after)
	}
}

// with returns the names of the Topologies that have a level of a node label.
func (w *Watch) with(key string) (names []string) {
	if w.topologies == nil {
		return nil
	}
	topologies, err := w.topologies.List(labels.Everything())
	if err != nil {
		return nil // A lister reads memory.
	}
	return nativegroups.With(topologies, key)
}

// Tell has changes of gangs told from now on, and all gangs that there are. Which Topologies there are is looked up in
// the first lister that is given; TopologiesChanged says that they are others.
func (w *Watch) Tell(topologies kailisters.TopologyLister, changed Changed) {
	if w.gangs == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.topologies == nil {
		w.topologies = topologies
	}
	w.changed = append(w.changed, changed)
	for _, known := range w.gangs.List() {
		changed(nil, known.(*scheduling.PodGroup))
	}
}

// TopologiesChanged translates all gangs anew.
func (w *Watch) TopologiesChanged() {
	if w.gangs == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, root := range w.forest.Roots() {
		w.translate(root)
	}
}

// Groups returns the groups of a gang, the outermost first.
func (w *Watch) Groups(key gang.Key) []*nativegroups.Group {
	ref, native := nativegroups.RefOf(key.Namespace, key.Name)
	if !native {
		return nil
	}
	return w.forest.Groups(ref)
}

// Joining is a transform of a cache of pods: members of native groups become those of their gang, before the next one.
func (w *Watch) Joining(next cache.TransformFunc) cache.TransformFunc {
	if w.gangs == nil {
		return next
	}
	return func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			object = w.forest.Join(pod)
		}
		return next(object)
	}
}

// With adds the gangs to the PodGroups that a lister has.
func (w *Watch) With(ours schedulinglisters.PodGroupLister) schedulinglisters.PodGroupLister {
	if w.gangs == nil {
		return ours
	}
	return both{ours, schedulinglisters.NewPodGroupLister(w.gangs)}
}

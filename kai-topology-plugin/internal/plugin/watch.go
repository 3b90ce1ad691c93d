package plugin

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/podgroupstatus"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/client/clientset/versioned"
	"packtree.dev/shared/client/informers/externalversions"
)

// watch starts the caches of PodGroups and Topologies, wakes gangs when something about them changes, and writes their
// status once leading is closed.
//
// Gangs are not woken through EventsToRegister: kube-scheduler would watch PodGroups a second time, untyped, and ask
// PreEnqueue before the cache that PreEnqueue reads has seen the change.
func (p *Plugin) watch(ctx context.Context, client versioned.Interface, leading <-chan struct{}) error {
	factory := externalversions.NewSharedInformerFactory(client, 0)
	podGroups := factory.Scheduling().V2alpha2().PodGroups()
	topologies := factory.Kai().V1alpha1().Topologies()
	p.podGroups, p.topologies = podGroups.Lister(), topologies.Lister()
	p.profiles.know(p.podGroups)
	p.companies = podGroups.Informer().GetIndexer()
	if err := indexByCompany(podGroups.Informer()); err != nil {
		return err
	}
	p.stopper = p.newStopper()
	p.status = podgroupstatus.NewWriter(client.SchedulingV2alpha2(), p.observe, p.tell)

	var handlers []cache.ResourceEventHandlerRegistration
	for _, watched := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{podGroups.Informer(), p.podGroupHandler()},
		{topologies.Informer(), p.topologyHandler()},
		{p.handle.SharedInformerFactory().Core().V1().Pods().Informer(), p.podHandler()},
		{p.handle.SharedInformerFactory().Core().V1().Nodes().Informer(), p.terrainHandler()},
		{p.handle.SharedInformerFactory().Core().V1().Nodes().Informer(), p.placesHandler()},
		{p.handle.SharedInformerFactory().Core().V1().Pods().Informer(), p.roomHandler()},
	} {
		registration, err := watched.informer.AddEventHandler(watched.handler)
		if err != nil {
			return fmt.Errorf("handling events: %w", err)
		}
		handlers = append(handlers, registration)
	}
	known := func() bool {
		return !slices.ContainsFunc(handlers, func(handler cache.ResourceEventHandlerRegistration) bool { return !handler.HasSynced() })
	}
	if err := p.measure(topologies.Informer()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go p.begin(ctx, known, leading)
	return nil
}

// begin wakes the gangs that were looked at before everything was known, all at once, so that the queue puts them in order;
// and writes statuses once this process leads. Up to then all gangs are held: one that came into the queue between the moment in
// which the last cache was filled and this one would be taken before others that rank above it.
func (p *Plugin) begin(ctx context.Context, known func() bool, leading <-chan struct{}) {
	if !cache.WaitForCacheSync(ctx.Done(), known) {
		return
	}
	p.opened.Store(true)
	for _, key := range p.held.gangs() {
		p.markBegun(key)
	}
	var ready []*corev1.Pod
	for _, key := range p.held.gangs() {
		ready = append(ready, p.takeIfReady(key)...)
	}
	p.activate(ready)
	select {
	case <-leading:
		go p.stopper.Run(ctx)
		p.status.Run(ctx)
	case <-ctx.Done():
	}
}

func (p *Plugin) podHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { p.podAppeared(object.(*corev1.Pod)) },
		UpdateFunc: func(before, after any) {
			old, pod := before.(*corev1.Pod), after.(*corev1.Pod)
			if sameMember(old, pod) {
				if gang.Pending(pod) && asksElse(old, pod) {
					p.askAnew(keyOf(pod))
				}
				return
			}
			if oldKey, _ := gang.KeyOf(old); oldKey != keyOf(pod) || old.UID != pod.UID {
				p.podLeft(old)
			}
			p.podAppeared(pod)
			if mayAsk(pod) {
				p.activate([]*corev1.Pod{pod})
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := objectOf[*corev1.Pod](object); ok {
				p.podLeft(pod)
				p.left(pod.UID)
			}
		},
	}
}

func keyOf(pod *corev1.Pod) gang.Key {
	key, _ := gang.KeyOf(pod)
	return key
}

// sameMember reports whether an update changes nothing that a gang could notice. The scheduler's own notes in the status of
// a pod are the most frequent updates, and must not wake the gang that they are about.
func sameMember(old, pod *corev1.Pod) bool {
	return old.UID == pod.UID && keyOf(old) == keyOf(pod) && gang.LeafOf(old) == gang.LeafOf(pod) &&
		gang.Expected(old) == gang.Expected(pod) && gang.Pending(old) == gang.Pending(pod) && gang.Standing(old) == gang.Standing(pod)
}

// mayAsk reports whether nothing about the pod itself holds it. Such a pod asks again after every change that its gang could
// notice. PreEnqueue may have held it for another gang, or before it had one, so that its gang does not know that it is held;
// and the queue does not ask again about a gate, or anything else, while it is PreEnqueue that holds the pod.
func mayAsk(pod *corev1.Pod) bool {
	return gang.Pending(pod) && !gang.Expected(pod)
}

// podAppeared is for a pod that is new to its gang, or new in its state.
func (p *Plugin) podAppeared(pod *corev1.Pod) {
	key, member := gang.KeyOf(pod)
	if !member {
		return
	}
	p.roster.Show(key, pod)
	missed := false
	if !gang.Pending(pod) {
		p.settleAsker(key, pod)
		p.held.remove(key, pod.UID)
		p.ranks.Drop(key, pod.UID) // It has its rank itself now.
		missed = p.book.Settled(key, pod.UID)
		p.markBegun(key)
	}
	if missed {
		p.breakPlan(key, metrics.PodLost, fmt.Sprintf("pod %s was taken out of the plan of the gang", pod.Name))
		p.sendBack([]types.UID{pod.UID}, "the pod is not scheduled by this plan any more")
	}
	p.status.Enqueue(key)
	if gang.Pending(pod) {
		p.verdicts.Newcomer(key, pod.UID)
	}
	// A pod that somebody else has bound may have been the last one missing.
	p.wakeIfReady(key)
	p.followerAppeared(key)
}

// podLeft is for a pod that is no member of its gang any more. What was planned around it does not hold.
func (p *Plugin) podLeft(pod *corev1.Pod) {
	key, member := gang.KeyOf(pod)
	if !member {
		return
	}
	p.roster.Drop(key, pod.UID)
	p.ranks.Drop(key, pod.UID)
	p.held.remove(key, pod.UID)
	p.book.Settled(key, pod.UID)
	p.gangChanged(key)
	if !p.stands(key) {
		p.companionMoved(key)
	}
}

func (p *Plugin) podGroupHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			p.mayGoStale(object.(*scheduling.PodGroup))
			p.gangChanged(keyOfPodGroup(object.(*scheduling.PodGroup)))
		},
		UpdateFunc: func(before, after any) {
			old, podGroup := before.(*scheduling.PodGroup), after.(*scheduling.PodGroup)
			p.mayGoStale(podGroup)
			if unmarked(old, podGroup) {
				p.rounds.forget(keyOfPodGroup(podGroup))
				p.gangChanged(keyOfPodGroup(podGroup))
				return
			}
			if !sameCompany(old, podGroup) {
				p.wakeCompanions(old)
				p.wakeCompanions(podGroup)
			} else if old.UID == podGroup.UID && old.Generation == podGroup.Generation && !p.expectsElse(old, podGroup) {
				p.status.Enqueue(keyOfPodGroup(podGroup))
				return
			}
			p.rounds.forget(keyOfPodGroup(podGroup))
			p.gangChanged(keyOfPodGroup(podGroup))
			p.victimsChanged(keyOfPodGroup(podGroup))
		},
		DeleteFunc: func(object any) {
			if podGroup, ok := objectOf[*scheduling.PodGroup](object); ok {
				p.outlines.forget(keyOfPodGroup(podGroup))
				p.ranks.Forget(keyOfPodGroup(podGroup))
				p.patience.forget(keyOfPodGroup(podGroup))
				p.rounds.forget(keyOfPodGroup(podGroup))
				p.leading.forget(keyOfPodGroup(podGroup))
				p.gangChanged(keyOfPodGroup(podGroup))
				p.wakeCompanions(podGroup)
				p.victimsChanged(keyOfPodGroup(podGroup))
			}
		},
	}
}

func keyOfPodGroup(podGroup *scheduling.PodGroup) gang.Key {
	return gang.Key{Namespace: podGroup.Namespace, Name: podGroup.Name}
}

// gangChanged has a gang planned anew, whatever it waited for. If it cannot be planned now, its pods are left where they are:
// what makes it possible wakes them. A gang that is deleted loses its pods one by one, and each would wake all the others.
func (p *Plugin) gangChanged(key gang.Key) {
	p.edits.Add(1)
	p.markBegun(key)
	p.breakPlan(key, metrics.GangChanged, "the gang was changed")
	p.breakPromises(key)
	p.giveUp(context.Background(), key)
	p.verdicts.Forget(key)
	p.status.Enqueue(key)
	if p.waitsInVain(key) {
		p.stopWaiting(key)
	}
	if reason, err := p.reasonToHold(key, nil); err == nil && reason != "" {
		return
	}
	p.held.take(key)
	p.wake(key)
}

func (p *Plugin) topologyHandler() cache.ResourceEventHandler {
	changed := func(object any) {
		topology, ok := objectOf[*kai.Topology](object)
		if !ok {
			return
		}
		p.outlines.topologiesChanged()
		for _, key := range p.gangsIn(topology.Name) {
			p.gangChanged(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: changed,
		UpdateFunc: func(before, after any) {
			if before.(*kai.Topology).Generation != after.(*kai.Topology).Generation {
				changed(after)
			}
		},
		DeleteFunc: changed,
	}
}

// objectOf also finds the object in the note that a cache leaves of a deletion it missed.
func objectOf[T any](object any) (T, bool) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	typed, ok := object.(T)
	if !ok {
		klog.Background().Error(nil, "A cache told of an object of another kind", "object", fmt.Sprintf("%T", object))
	}
	return typed, ok
}

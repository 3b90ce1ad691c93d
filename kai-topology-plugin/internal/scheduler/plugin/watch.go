package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decide/staleness"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/client/clientset/versioned"
	"packtree.dev/shared/client/informers/externalversions"
	"packtree.dev/shared/podgrouptree"
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
	p.lister.PodGroups, p.lister.Topologies = p.profiles.natives.With(podGroups.Lister()), topologies.Lister()
	p.profiles.know(p.lister.PodGroups)
	p.stopper = staleness.NewStopper(p.handle.ClientSet().CoreV1(), p.lister.Gang, func(key gang.Key, reason string) {
		p.effects.announce(key, gangevents.News{
			Type: corev1.EventTypeWarning, Reason: gangevents.Stopped, Note: reason,
		})
	})
	p.effects.status = podgroupstatus.NewWriter(client.SchedulingV2alpha2(), p.observe, p.effects.announcer, p.gangs)
	p.effects.status.Adviser = p.adviser

	var handlers []cache.ResourceEventHandlerRegistration
	for _, watched := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{podGroups.Informer(), p.podGroupHandler()},
		{topologies.Informer(), p.topologyHandler()},
		{p.handle.SharedInformerFactory().Core().V1().Pods().Informer(), p.podHandler()},
		{p.handle.SharedInformerFactory().Core().V1().Nodes().Informer(), p.nodeHandler()},
	} {
		registration, err := watched.informer.AddEventHandler(watched.handler)
		if err != nil {
			return fmt.Errorf("handling events: %w", err)
		}
		handlers = append(handlers, registration)
	}
	finished, err := p.watchFinished(ctx)
	if err != nil {
		return err
	}
	handlers = append(handlers, finished)
	known := func() bool {
		return !slices.ContainsFunc(handlers, func(handler cache.ResourceEventHandlerRegistration) bool {
			return !handler.HasSynced()
		})
	}
	p.profiles.natives.Tell(p.lister.Topologies, p.nativeChanged)
	metrics.Register()
	metrics.ServeDomains(&p.measure)
	factory.Start(ctx.Done())
	go p.begin(ctx, known, leading)
	return nil
}

// begin has the gangs taken that were looked at before everything was known, and writes statuses once this process
// leads.
func (p *Plugin) begin(ctx context.Context, known func() bool, leading <-chan struct{}) {
	if !cache.WaitForCacheSync(ctx.Done(), known) {
		return
	}
	p.effects.do(p.gangs.Opened(p.clock.Now()))
	select {
	case <-leading:
		p.effects.do(p.gangs.Leads(p.clock.Now()))
		if err := p.lookAtAll(); err != nil {
			klog.FromContext(ctx).Error(err, "Beginning to lead")
		}
		go p.stopper.Run(ctx)
		go p.mender.run(ctx)
		go p.adviser.run(ctx)
		p.effects.status.Run(ctx)
	case <-ctx.Done():
	}
}

// lookAtAll tells the queues about all existing gangs, and about gangs that change from now on.
func (p *Plugin) lookAtAll() error {
	p.effects.leads.Store(true)
	podGroups, err := p.lister.PodGroups.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("reading PodGroups: %w", err)
	}
	for _, key := range p.lister.Keys() { // Not all of them have a PodGroup.
		p.effects.writeStatus(key)
	}
	for _, podGroup := range podGroups {
		p.effects.writeStatus(gang.KeyOfPodGroup(podGroup))
		p.stopInTime(podGroup)
	}
	return nil
}

// stopInTime has a gang stopped that runs below its minimum for too long.
func (p *Plugin) stopInTime(podGroup *scheduling.PodGroup) {
	_, stops := staleness.Deadline(podGroup)
	if (stops || len(staleness.Leftovers(podGroup)) > 0) && p.effects.leads.Load() {
		p.stopper.Enqueue(gang.KeyOfPodGroup(podGroup))
	}
}

func (p *Plugin) podHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, atFirst bool) {
			if !atFirst {
				p.zonesOutdated(nil, object.(*corev1.Pod))
			}
			p.placesChanged(nil, object.(*corev1.Pod))
			p.expected(object.(*corev1.Pod))
			p.effects.do(p.gangs.PodChanged(nil, object.(*corev1.Pod), p.clock.Now()))
		},
		UpdateFunc: func(before, after any) {
			p.zonesOutdated(before.(*corev1.Pod), after.(*corev1.Pod))
			p.placesChanged(before.(*corev1.Pod), after.(*corev1.Pod))
			p.expected(before.(*corev1.Pod), after.(*corev1.Pod))
			p.effects.do(p.gangs.PodChanged(before.(*corev1.Pod), after.(*corev1.Pod), p.clock.Now()))
		},
		DeleteFunc: func(object any) {
			if pod, ok := objectOf[*corev1.Pod](object); ok {
				p.zonesOutdated(pod, nil)
				p.placesChanged(pod, nil)
				p.expected(pod)
				p.effects.do(p.gangs.PodChanged(p.lister.AsFinished(pod), nil, p.clock.Now()))
			}
		},
	}
}

// expected is for pods that come to wait for the name of their gang, or wait for it no more: nothing else is told of
// them.
func (p *Plugin) expected(pods ...*corev1.Pod) {
	for _, pod := range p.waiting(pods) {
		if key, _ := gang.KeyOf(pod); gang.Expected(pod) {
			p.effects.writeStatus(key)
		}
	}
}

// placesChanged is for a pod that was and is, nil where there was or is none: it has come to a node, or left it.
func (p *Plugin) placesChanged(before, after *corev1.Pod) {
	stood, stands := before != nil && gang.Standing(before), after != nil && gang.Standing(after)
	if stood != stands || before != nil && before.Spec.NodeName != "" && after == nil {
		p.mender.clusterChanged()
	}
}

func (p *Plugin) podGroupHandler() cache.ResourceEventHandler {
	changed := func(old, podGroup *scheduling.PodGroup) {
		p.stopInTime(podGroup)
		if old == nil || old.Generation != podGroup.Generation || !maps.Equal(old.Annotations, podGroup.Annotations) {
			p.mender.clusterChanged()
		}
		if concerned(podGroup) {
			p.mender.changed()
		}
		p.effects.do(p.gangs.PodGroupChanged(old, podGroup, p.clock.Now()))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { changed(nil, object.(*scheduling.PodGroup)) },
		UpdateFunc: func(before, after any) { changed(before.(*scheduling.PodGroup), after.(*scheduling.PodGroup)) },
		DeleteFunc: func(object any) {
			if podGroup, ok := objectOf[*scheduling.PodGroup](object); ok {
				p.mender.clusterChanged()
				p.effects.do(p.gangs.PodGroupChanged(podGroup, nil, p.clock.Now()))
			}
		},
	}
}

// nativeChanged is for a gang of native groups that was and is, nil where there was or is none. Its Topologies, and the
// levels that annotations prefer, have no generation: a gang with others is looked at like a new one.
func (p *Plugin) nativeChanged(before, after *scheduling.PodGroup) {
	switch handler := p.podGroupHandler(); {
	case before == nil || after != nil && before.Generation == after.Generation &&
		!equality.Semantic.DeepEqual(before.Spec, after.Spec):
		handler.OnAdd(after, false)
	case after == nil:
		handler.OnDelete(before)
	default:
		handler.OnUpdate(before, after)
	}
}

func (p *Plugin) topologyHandler() cache.ResourceEventHandler {
	changed := func(topology *kai.Topology) {
		p.profiles.natives.TopologiesChanged()
		p.mender.clusterChanged()
		p.effects.do(p.gangs.TopologyChanged(topology.Name, podgrouptree.HierarchyOf(topology), p.clock.Now()))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { changed(object.(*kai.Topology)) },
		UpdateFunc: func(before, after any) {
			old, topology := before.(*kai.Topology), after.(*kai.Topology)
			if old.Generation != topology.Generation {
				changed(topology)
			}
		},
		DeleteFunc: func(object any) {
			if topology, ok := objectOf[*kai.Topology](object); ok {
				p.profiles.natives.TopologiesChanged()
				p.effects.do(p.gangs.TopologyChanged(topology.Name, nil, p.clock.Now()))
			}
		},
	}
}

// nodeHandler reports nodes that can make a domain fit for a gang, or unfit, deleted nodes, and nodes that change their
// domain.
func (p *Plugin) nodeHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			p.mender.clusterChanged()
			node := object.(*corev1.Node)
			p.effects.do(p.gangs.NodeChanged(node.Name, node))
		},
		UpdateFunc: func(before, after any) {
			old, node := before.(*corev1.Node), after.(*corev1.Node)
			other := !maps.Equal(old.Labels, node.Labels) || old.Spec.Unschedulable != node.Spec.Unschedulable ||
				!slices.EqualFunc(old.Spec.Taints, node.Spec.Taints, sameTaint)
			if other || !maps.EqualFunc(old.Status.Allocatable, node.Status.Allocatable, equalQuantities) {
				p.mender.clusterChanged()
			}
			if other {
				p.effects.do(p.gangs.NodeChanged(node.Name, node))
			}
		},
		DeleteFunc: func(object any) {
			p.mender.clusterChanged()
			if node, ok := objectOf[*corev1.Node](object); ok {
				p.effects.do(p.gangs.NodeChanged(node.Name, nil))
			}
		},
	}
}

func sameTaint(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }

func equalQuantities(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

// objectOf also finds the object in the note that a cache leaves of a deletion it missed.
func objectOf[T any](object any) (T, bool) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	typed, ok := object.(T)
	if !ok {
		klog.Background().Error(nil, "A cache has an object of another kind", "object", fmt.Sprintf("%T", object))
	}
	return typed, ok
}

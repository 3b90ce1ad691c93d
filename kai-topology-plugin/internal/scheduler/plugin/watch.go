package plugin

import (
	"cmp"
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
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
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
	metrics.ServeDomains(&measure{Plugin: p, lay: func(cluster *inventory.Inventory, run func(*turns.Table) error) error {
		return p.profiles.copied.On(ctx, cluster, run)
	}})
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
	return ganglister.Handler(func(before, after *corev1.Pod, atFirst bool) {
		if !atFirst {
			p.zonesOutdated(before, after)
		}
		stood, stands := before != nil && gang.Standing(before), after != nil && gang.Standing(after)
		if stood != stands || after == nil && before.Spec.NodeName != "" {
			p.mender.clusterChanged()
		}
		p.expected(before, after)
		if after == nil {
			before = p.lister.AsFinished(before)
		}
		p.effects.do(p.gangs.PodChanged(before, after, p.clock.Now()))
	})
}

// expected is for pods that come to wait for the name of their gang, or wait for it no more: nothing else is told of
// them. Some may be nil.
func (p *Plugin) expected(pods ...*corev1.Pod) {
	for _, pod := range p.waiting(slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return pod == nil })) {
		if key, _ := gang.KeyOf(pod); gang.Expected(pod) {
			p.effects.writeStatus(key)
		}
	}
}

func (p *Plugin) podGroupHandler() cache.ResourceEventHandler {
	return ganglister.Handler(func(before, after *scheduling.PodGroup, _ bool) { p.podGroupChanged(before, after) })
}

// podGroupChanged is for a PodGroup that was and is, nil where there was or is none.
func (p *Plugin) podGroupChanged(before, after *scheduling.PodGroup) {
	if after != nil {
		p.stopInTime(after)
	}
	if before == nil || after == nil || before.Generation != after.Generation ||
		!maps.Equal(before.Annotations, after.Annotations) {
		p.mender.clusterChanged()
	}
	if after != nil && concerned(after) {
		p.mender.changed()
	}
	p.effects.do(p.gangs.PodGroupChanged(before, after, p.clock.Now()))
}

// nativeChanged is for a gang of native groups that was and is, nil where there was or is none. Its Topologies, and the
// levels that annotations prefer, have no generation: a gang with others is looked at like a new one.
func (p *Plugin) nativeChanged(before, after *scheduling.PodGroup) {
	if before != nil && after != nil && before.Generation == after.Generation &&
		!equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		before = nil
	}
	p.podGroupChanged(before, after)
}

func (p *Plugin) topologyHandler() cache.ResourceEventHandler {
	return ganglister.Handler(func(before, after *kai.Topology, _ bool) {
		if before != nil && after != nil && before.Generation == after.Generation {
			return
		}
		var levels podgrouptree.Hierarchy
		if after != nil {
			levels = podgrouptree.HierarchyOf(after)
		}
		p.profiles.natives.TopologiesChanged()
		p.mender.clusterChanged()
		p.effects.do(p.gangs.TopologyChanged(cmp.Or(after, before).Name, levels, p.clock.Now()))
	})
}

// nodeHandler reports nodes that can make a domain fit for a gang, or unfit, deleted nodes, and nodes that change their
// domain.
func (p *Plugin) nodeHandler() cache.ResourceEventHandler {
	return ganglister.Handler(func(before, after *corev1.Node, _ bool) {
		other := before == nil || after == nil || !maps.Equal(before.Labels, after.Labels) ||
			before.Spec.Unschedulable != after.Spec.Unschedulable ||
			!slices.EqualFunc(before.Spec.Taints, after.Spec.Taints, sameTaint)
		if other || !maps.EqualFunc(before.Status.Allocatable, after.Status.Allocatable, equalQuantities) {
			p.mender.clusterChanged()
		}
		if other {
			p.effects.do(p.gangs.NodeChanged(cmp.Or(after, before).Name, after))
		}
	})
}

func sameTaint(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }

func equalQuantities(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

// finishedHandler tells gangs about completed pods, and about completed pods that are deleted.
func (p *Plugin) finishedHandler() cache.ResourceEventHandler {
	return ganglister.Handler(func(before, after *corev1.Pod, _ bool) {
		p.effects.do(p.gangs.PodFinished(cmp.Or(after, before), after == nil, p.clock.Now()))
	})
}

// watchFinished fills the cache of finished pods until ctx is done.
func (p *Plugin) watchFinished(ctx context.Context) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := p.lister.Finished.AddEventHandler(p.finishedHandler())
	if err != nil {
		return nil, fmt.Errorf("handling events: %w", err)
	}
	go p.lister.Finished.RunWithContext(ctx)
	return registration, nil
}

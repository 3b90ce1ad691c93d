// Package plugin is our part of kube-scheduler: gangs are planned as a whole, their pods are put where the plan says,
// and none is bound before all that the gang needs have a node.
//
// What is known of each gang is in package gangstate. This package reports events to it and
// carries out what it returns: see effects.go. The life of a gang, a file each:
//
//	watch.go       what happens to pods, PodGroups, Topologies and nodes
//	preenqueue.go  pods are held until their PodGroup and enough of them exist
//	queuesort.go   pods of one gang are taken one after the other
//	prefilter.go   the first pod plans the whole gang, the others look their node up
//	plan.go        from the pod that asks to the plan of its gang
//	question.go    what a decision is made of
//	overtakes.go   what a decision means for waiting gangs
//	filter.go      the room that planned pods will take is kept from others
//	reserve.go     a pod is put on its node, or taken off it
//	permit.go      pods wait until the minima of the gang have nodes, and go together
//	prebind.go     so many are bound at a time, to nodes that are what they were when they were planned for
//	bind.go        a pod learns where it is by the request that binds it
//	postfilter.go  a pod that cannot go where it was planned breaks the plan
//	preempt.go     victims for a gang that does not fit, see package preemption; evict.go evicts them
//	preempt_pod.go victims for a pod without a gang: no gang is left below its minimum
//	zonewatch.go   the NUMA zones of nodes, as agents report them
//	zones.go       what is free in zones, and the zones that kubelets will probably choose
//	zonemispredicted.go  a kubelet has chosen otherwise, or rejected the pod
//	seats.go       the room of pods that left is held for their replacements
//	effects.go     carries out the effects of an event
//	measure.go     what is free, and how many more gangs fit, for metrics
//	repair.go      what is moved for gangs that have lost pods, beside the scheduling loop
//	admissioncheck.go  whether a gang fits, for Kueue, before that gives quota to it
//	hints.go       which events let a gang that does not fit try again
//	queue.go       the queue passes over gangs that an event does not help
package plugin

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	backend "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/utils/clock"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/overtaking"
	"packtree.dev/kai-topology-plugin/internal/decide/staleness"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	"packtree.dev/shared/client/clientset/versioned"
	"packtree.dev/shared/packing"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "KAITopology"

// Plugin schedules gangs.
type Plugin struct {
	handle   fwk.Handle
	profiles *profiles
	// name is that of the plugin's own profile.
	name     string
	lister   *ganglister.Lister
	hints    *queueingHints
	effects  *executor
	view     *clusterview.View
	pdbs     policylisters.PodDisruptionBudgetLister
	gangs    *gangstate.State
	clock    clock.PassiveClock
	bindings inFlight
	stopper  *staleness.Stopper
	plain    *preemptForPlain
	// mender and adviser work beside the scheduling loop.
	mender  *mender
	adviser *adviser
	claims  claims
	usages  zoneUsages
	// placement is for gangs that do not say which domains they would rather have.
	placement packing.Placement
	reserver  overtaking.Reserver
	names     nodeNames
	// started is when this process began to count overtaking.
	started time.Time
}

var (
	_ fwk.PreEnqueuePlugin  = &Plugin{}
	_ fwk.QueueSortPlugin   = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.PermitPlugin      = &Plugin{}
	_ fwk.PreBindPlugin     = &Plugin{}
	_ fwk.BindPlugin        = &Plugin{}
	_ fwk.PostBindPlugin    = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
)

// Factory returns the plugin's factory. Leading is closed once this process schedules, which it may never do if
// another one is the leader: up to then it writes nothing. Marks reports whether a pod of a gang that does not fit is
// to be marked unschedulable, and queue returns what takes the place of kube-scheduler's queue. SetCondition is called
// while this process schedules.
func Factory(leading <-chan struct{}, setCondition podgroupstatus.SetCondition) (
	factory frameworkruntime.PluginFactory, marks func(pod *corev1.Pod) bool,
	queue func(backend.SchedulingQueue) backend.SchedulingQueue,
) {
	shared := &profiles{}
	factory = func(ctx context.Context, configured runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		arguments, err := argumentsOf(configured)
		if err != nil {
			return nil, err
		}
		client, err := versioned.NewForConfig(unlimited(handle.KubeConfig()))
		if err != nil {
			return nil, fmt.Errorf("creating client: %w", err)
		}
		pods := handle.SharedInformerFactory().Core().V1().Pods().Informer()
		untyped, err := dynamic.NewForConfig(unlimited(handle.KubeConfig()))
		if err != nil {
			return nil, fmt.Errorf("creating client: %w", err)
		}
		if err := shared.natives.Start(ctx, untyped, handle.ClientSet(), pods, leading); err != nil {
			return nil, err
		}
		trim := shared.natives.Joining(ganglister.MembershipOf)
		if err := shared.zones.watch(ctx, untyped, handle.ClientSet(), trim); err != nil {
			return nil, err
		}
		made, err := newPluginAmong(ctx, shared, handle, client, leading)
		if err != nil {
			return nil, err
		}
		if err := made.watchRejected(shared.zones.failed); err != nil {
			return nil, err
		}
		made.placement = arguments.Placement
		made.effects.status.SetCondition = setCondition
		made.effects.status.Natives = podgroupstatus.Natives{Groups: shared.natives.Groups, Client: untyped}
		made.mender.unset = arguments.repair
		if arguments.ReserveFor != nil {
			made.reserver.For = arguments.ReserveFor.Duration
		}
		if arguments.AdmissionCheck {
			if err := made.admitBy(ctx, untyped, leading); err != nil {
				return nil, err
			}
		}
		shared.name(arguments.Shapes)
		return made, nil
	}
	return factory, shared.mark, shared.queue
}

// unlimited is the configuration of a client of custom resources, which are not served in the protobuf of
// kube-scheduler's own client. It competes with no binding for a limit: besides its watches it has one request under
// way at a time, the status of one object, and none about the same PodGroup for a while after.
func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "", ""
	config.QPS, config.RateLimiter = -1, nil
	return config
}

func newPluginAmong(
	ctx context.Context, all *profiles, handle fwk.Handle, client versioned.Interface, leading <-chan struct{},
) (*Plugin, error) {
	filters, err := kubeframework.FiltersOf(handle)
	if err != nil {
		return nil, err
	}
	core := handle.SharedInformerFactory().Core().V1()
	pods := core.Pods().Informer()
	if err := ganglister.Index(pods); err != nil {
		return nil, fmt.Errorf("indexing pods by gang: %w", err)
	}
	finished, err := ganglister.NewFinished(handle.ClientSet(), all.natives.Joining(ganglister.MembershipOf))
	if err != nil {
		return nil, err
	}
	gangs, view := gangstate.New(all.have, func(pod *corev1.Pod, node string) bool {
		return all.zones.catalogue.Avoids(eligibility.ZoneOwner(pod), node)
	}), clusterview.New(filters)
	view.SeeZones(&all.zones.catalogue)
	lister := &ganglister.Lister{
		Pods: core.Pods().Lister(), Nodes: core.Nodes().Lister(), Members: pods.GetIndexer(),
		Zones: &all.zones.catalogue, Finished: finished, Unshown: gangs.Unshown, Ours: all.have,
	}
	hints := &queueingHints{lister: lister, view: view}
	all.add(filters.ProfileName(), own{gangs, hints.all()})
	plugin := &Plugin{
		handle:   handle,
		profiles: all,
		name:     filters.ProfileName(),
		lister:   lister,
		hints:    hints,
		effects: &executor{
			handle: handle, lister: lister, gangs: gangs, clock: clock.RealClock{},
			announcer: gangevents.New(handle.EventRecorder()),
		},
		view:     view,
		pdbs:     handle.SharedInformerFactory().Policy().V1().PodDisruptionBudgets().Lister(),
		gangs:    gangs,
		clock:    clock.RealClock{},
		bindings: newInFlight(),
		started:  time.Now(),
		claims: claims{
			volumeClaims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		},
	}
	plugin.reserver = plugin.newReserver()
	plugin.mender = newMender(plugin)
	plugin.adviser = newAdviser(plugin)
	plugin.effects.roomChanged = plugin.mender.clusterChanged
	if plugin.plain, err = newPreemptForPlain(ctx, plugin, filters); err != nil {
		return nil, err
	}
	if err := plugin.watch(ctx, client, leading); err != nil {
		return nil, fmt.Errorf("watching PodGroups and Topologies: %w", err)
	}
	go plugin.followZones(ctx, &all.zones.catalogue)
	return plugin, nil
}

// newReserver reserves room for overdue gangs on the nodes of the present scheduling cycle.
func (p *Plugin) newReserver() overtaking.Reserver {
	return overtaking.Reserver{
		Gangs: p.gangs, Request: p.overdue, For: overtaking.DefaultReserveFor,
		Snapshot: func() fwk.NodeInfoLister { return p.handle.SnapshotSharedLister().NodeInfos() },
	}
}

// Name returns the name of the plugin.
func (p *Plugin) Name() string { return Name }

// SignPod lets kube-scheduler reuse a decision for pods that are alike, as it does without us: for pods without a
// gang we add nothing to what tells them apart, and the pods of a gang are never alike.
func (p *Plugin) SignPod(_ context.Context, pod *corev1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if _, member := p.lister.KeyOf(pod); member {
		return nil, fwk.NewStatus(fwk.Unschedulable, "pods of a gang are planned together")
	}
	return nil, nil
}

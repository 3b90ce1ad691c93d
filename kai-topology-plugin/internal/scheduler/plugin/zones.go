package plugin

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
)

// zoneReports are what agents have reported, by node.
type zoneReports map[string]zoneReport

// zoneReport is what an agent reports of a node, and what was free in its zones then.
type zoneReport struct {
	node  *zones.Node
	usage *zones.Usage
}

// followZones compares what agents report with what was predicted, and wakes pods that wait for room in zones where
// there may be more of it. Agents report what is in use all the time.
func (p *Plugin) followZones(ctx context.Context, catalogue *zones.Catalogue) {
	reports, seen := zoneReports{}, 0
	for catalogue.Await(ctx, seen) {
		nodes, all, now := catalogue.Changes(seen)
		if all {
			nodes = p.nodeNames()
		}
		helps := catalogue.Reopened(seen)
		for _, node := range nodes {
			helps = p.takeReport(catalogue, reports, node) || helps
		}
		if seen = now; helps {
			p.wakeForZones()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(together):
		}
	}
}

// takeReport notes for pods on a node the zones that its agent reports, where others were predicted. It reports whether
// pods may have room there that had none before.
func (p *Plugin) takeReport(catalogue *zones.Catalogue, reports zoneReports, name string) (helps bool) {
	before, node := reports[name], catalogue.Node(name)
	if node == nil {
		delete(reports, name)
		return before.node != nil
	}
	pods, err := p.lister.On(name)
	if err != nil {
		return false
	}
	now := zoneReport{node, catalogue.Usage(name, pods)}
	reports[name] = now
	for _, pod := range pods {
		predicted, was := catalogue.Held(pod.UID)
		observed, known := now.usage.HeldBy(pod.UID)
		if !known {
			continue
		}
		catalogue.Hold(name, pod.UID, observed)
		if was && !slices.Equal(predicted.In(node), observed.In(node)) {
			p.mispredicted(pod, metrics.OtherZone,
				otherZoneNote(pod, zoneNames(predicted.In(node)), zoneNames(observed.In(node))))
		}
	}
	return !node.SameRule(before.node) || now.usage.FreerThan(before.usage)
}

// zonesOutdated is for a pod that was and is, nil where there was or is none: if it has come to a node or left it, what
// the agent has reported of the zones there is of before.
func (p *Plugin) zonesOutdated(before, after *corev1.Pod) {
	was, is := before != nil && before.Spec.NodeName != "", after != nil && after.Spec.NodeName != ""
	switch {
	case was == is || p.lister.Zones.Enforcing() == 0:
	case is:
		if zones.DemandOf(after) != nil {
			p.lister.Zones.Outdate(after.Spec.NodeName)
		}
	case zones.DemandOf(before) != nil:
		p.lister.Zones.Leave(before.UID)
		p.lister.Zones.Outdate(before.Spec.NodeName)
	}
}

// together is how long reports of agents are collected before pods are woken.
const together = time.Second

func (p *Plugin) nodeNames() (names []string) {
	nodes, err := p.lister.Nodes.List(labels.Everything())
	if err != nil {
		return nil
	}
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}

// wakeForZones has pods tried again that ask for zones and wait.
func (p *Plugin) wakeForZones() {
	pods, err := p.lister.Pods.List(labels.Everything())
	if err != nil {
		return
	}
	var waiting []*corev1.Pod
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && gang.Pending(pod) && p.name == pod.Spec.SchedulerName && zones.DemandOf(pod) != nil {
			waiting = append(waiting, pod)
		}
	}
	if len(waiting) > 0 {
		p.effects.activate(waiting)
	}
}

// zoneDemandKey is where the cycle of a pod holds what it asks of zones.
const zoneDemandKey fwk.StateKey = "packtree.dev/zones"

type zoneDemand struct {
	*zones.Demand
	owner string
}

// Clone returns the demand itself: it does not change.
func (d zoneDemand) Clone() fwk.StateData { return d }

// askZones takes note of what a pod asks of zones, and reports whether any node looks at that.
func (p *Plugin) askZones(state fwk.CycleState, pod *corev1.Pod) bool {
	if p.lister.Zones.Enforcing() == 0 {
		return false
	}
	demand := zones.DemandOf(pod)
	if demand != nil {
		state.Write(zoneDemandKey, zoneDemand{demand, eligibility.ZoneOwner(pod)})
	}
	return demand != nil
}

// filterZones rejects a node if its kubelet would reject the pod for its NUMA zones, beside the pods that will stand
// there.
func (p *Plugin) filterZones(state fwk.CycleState, node fwk.NodeInfo, reserved []*corev1.Pod) *fwk.Status {
	data, err := state.Read(zoneDemandKey)
	if err != nil {
		return nil
	}
	asked := data.(zoneDemand)
	if why := eligibility.ZoneObjection(p.lister.Zones, asked.Demand, asked.owner, node.Node().Name); why != "" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, why)
	}
	usage := p.usageOn(node, reserved)
	if usage == nil {
		return nil
	}
	if _, admitted := usage.Admit(asked.Demand); !admitted {
		return fwk.NewStatus(fwk.Unschedulable, eligibility.ZonesTooFull)
	}
	return nil
}

// zoneUsages are the free amounts in the zones of nodes when last looked at, by name: pods without a gang ask about
// many nodes, and few have changed.
type zoneUsages struct {
	mu     sync.Mutex
	byNode map[string]zoneUsage
}

// zoneUsage is what is free in the zones of a node of a generation, by a report that is outdated or not.
type zoneUsage struct {
	generation int64
	node       *zones.Node
	outdated   bool
	usage      *zones.Usage
}

// usageOn is what is free in the zones of a node beside reserved pods. It is not changed.
func (p *Plugin) usageOn(info fwk.NodeInfo, reserved []*corev1.Pod) *zones.Usage {
	name := info.Node().Name
	node := p.lister.Zones.Node(name)
	if !node.Enforces() || len(reserved) > 0 {
		return eligibility.UsageOn(p.lister.Zones, info, reserved...)
	}
	p.usages.mu.Lock()
	known := p.usages.byNode[name]
	p.usages.mu.Unlock()
	// The event of a pod that leaves may come here later than to the snapshot.
	outdated := p.lister.Zones.Outdated(name)
	if known.node == node && known.generation == info.GetGeneration() && known.outdated == outdated {
		return known.usage
	}
	known = zoneUsage{info.GetGeneration(), node, outdated, eligibility.UsageOn(p.lister.Zones, info)}
	p.usages.mu.Lock()
	defer p.usages.mu.Unlock()
	if p.usages.byNode == nil || len(p.usages.byNode) > 2*p.lister.Zones.Enforcing() {
		p.usages.byNode = map[string]zoneUsage{} // Nodes have gone.
	}
	p.usages.byNode[name] = known
	return known.usage
}

// holdZones remembers the zones that the kubelet of a node will probably give a pod.
func (p *Plugin) holdZones(state fwk.CycleState, pod *corev1.Pod, name string) {
	data, err := state.Read(zoneDemandKey)
	if err != nil {
		return
	}
	node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return
	}
	usage := eligibility.UsageOn(p.lister.Zones, node)
	if usage == nil {
		return
	}
	usage.Add(pod.UID, data.(zoneDemand).Demand, nil)
	if held, known := usage.HeldBy(pod.UID); known {
		p.lister.Zones.Hold(name, pod.UID, held)
	}
	p.lister.Zones.Outdate(name)
}

package clusterview

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
)

// zoned counts how many pods of each demand fit into the zones of nodes with kubelets that reject pods by zone. To
// packing the demand is a resource: such a node has as many units as pods fit there, and every other node has plenty.
type zoned struct {
	catalogue *zones.Catalogue
	// seen is the version of the catalogue that is known.
	seen int
	// usage is what is free in the zones of each node that enforces, by its name. It is complete while there are demands.
	usage map[string]*zones.Usage
	// nodes are what the usage was counted by, and judged what filters may have judged nodes by.
	nodes, judged map[string]*zones.Node
	// demands are all demands that were asked about, by the name of their resource.
	demands map[string]*zones.Demand
}

// mostPods is how many pods are counted on one node.
const mostPods = 1 << 20

// SeeZones has the view count the zones of nodes. It is called before anything is asked of the view.
func (v *View) SeeZones(catalogue *zones.Catalogue) { v.zoned.catalogue = catalogue }

// Zones implements eligibility.Nodes.
func (v *View) Zones() *zones.Catalogue { return v.zoned.catalogue }

// ask has the cluster count how many pods of these demands fit on each node.
func (v *View) ask(demands []*zones.Demand) {
	z, fresh := &v.zoned, false
	for _, demand := range demands {
		if name := eligibility.ZoneResource(demand); z.demands[name] == nil {
			z.demands[name], fresh = demand, true
			v.cluster.OfferEverywhere(name, plenty)
		}
	}
	if !fresh {
		return
	}
	for _, known := range v.seen {
		if z.usage[known.name] == nil {
			z.look(known)
		}
		v.countZones(known.name, z.usage[known.name])
	}
}

// look counts what is free in the zones of a node.
func (z *zoned) look(known *seen) {
	z.nodes[known.name], z.usage[known.name] = z.catalogue.Node(known.name), eligibility.UsageOn(z.catalogue, known.info)
	if z.nodes[known.name] == nil {
		z.drop(known.name)
	}
}

func (z *zoned) drop(node string) {
	delete(z.nodes, node)
	delete(z.usage, node)
}

// countZones has the cluster know how many pods of each demand fit into what is free in the zones of a node.
func (v *View) countZones(node string, usage *zones.Usage) {
	if usage == nil {
		v.cluster.Release(zonesOf(node))
		return
	}
	taken := make(packing.Resources, len(v.zoned.demands))
	for name, demand := range v.zoned.demands {
		taken[name] = plenty - ZoneRoom(usage, demand)
	}
	v.cluster.Assign(packing.Pod{ID: zonesOf(node), Node: node, Requests: taken})
}

// ZoneRoom is how much of the resource that stands for a demand is free on a node; usage is nil if its kubelet takes
// pods whatever their zones.
func ZoneRoom(usage *zones.Usage, demand *zones.Demand) int64 {
	if usage == nil {
		return plenty
	}
	return usage.Room(demand, mostPods)
}

// zonesOf is the pod that takes of a node what its zones have no room for.
func zonesOf(node string) string { return "zones of " + node }

// lookAtZones counts anew what the zones of a changed node take.
func (v *View) lookAtZones(known *seen) {
	if len(v.zoned.demands) == 0 {
		return
	}
	before := v.zoned.usage[known.name]
	if v.zoned.look(known); before != nil || v.zoned.usage[known.name] != nil {
		v.countZones(known.name, v.zoned.usage[known.name])
	}
}

// followZones takes note of what the catalogue has learned.
func (v *View) followZones() {
	names, all, now := v.zoned.catalogue.Changes(v.zoned.seen)
	if v.zoned.seen == now {
		return
	}
	v.zoned.seen = now
	if all {
		names = names[:0]
		for name := range v.byName {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	for _, name := range names {
		known := v.byName[name]
		if known == nil {
			continue
		}
		now, usage := v.zoned.catalogue.Node(name), v.zoned.usage[name]
		counted := v.zoned.nodes[name] == now // The node itself has changed, too, and was looked at first.
		v.lookAtZones(known)
		same := v.zoned.judged[name].SameRule(now)
		if v.zoned.judged[name] = now; !same {
			// What filters say of the node may be something else now.
			v.cluster.SetNode(packing.Node{Name: name, Labels: known.offer.labels, Allocatable: known.offer.allocatable})
		}
		if !same || counted || v.zoned.usage[name].FreerThan(usage) {
			v.moments.now++
			v.moments.better = v.moments.now
		}
	}
}

// dropZones forgets a node.
func (v *View) dropZones(name string) {
	v.zoned.drop(name)
	delete(v.zoned.judged, name)
	v.cluster.Release(zonesOf(name))
}

// Usage is what is free in the zones of a node on trial, with the room that is kept for others taken; nil if its
// kubelet takes pods whatever their zones. The caller may change it.
func (t *Trial) Usage(node string) *zones.Usage {
	if usage := t.usage[node]; usage != nil {
		return usage.Clone()
	}
	info := t.Node(node)
	if info == nil {
		return nil
	}
	if usage := t.view.zoned.usage[node]; usage != nil {
		return usage.Clone()
	}
	return eligibility.UsageOn(t.view.zoned.catalogue, info)
}

// Limit has no more than so many pods of a demand fit on a node.
func (t *Trial) Limit(demand *zones.Demand, node string, pods int64) {
	name := eligibility.ZoneResource(demand)
	t.limits++
	t.Cluster.Assign(packing.Pod{
		ID: fmt.Sprintf("limit %d", t.limits), Node: node,
		Requests: packing.Resources{name: max(0, t.Cluster.Free(node, name)-pods)},
	})
}

// reserveZones takes what reserved pods will hold of the zones of a node.
func (t *Trial) reserveZones(node string, pods []*corev1.Pod) {
	usage := t.Usage(node)
	if usage == nil || len(t.view.zoned.demands) == 0 {
		return
	}
	for _, pod := range pods {
		usage.Add(pod.UID, zones.DemandOf(pod), nil)
	}
	t.recount(node, usage)
}

func (t *Trial) recount(node string, usage *zones.Usage) {
	if t.usage == nil {
		t.usage = map[string]*zones.Usage{}
	}
	t.usage[node] = usage
	t.view.countZones(node, usage)
}

// Leave has a pod, by its StandingID, leave the node that it stands on, or with back return to where it stood: what it
// holds of the node's zones is free meanwhile, if it is known which zones these are.
func (t *Trial) Leave(node, id string, back bool) {
	if len(t.view.zoned.demands) == 0 {
		return
	}
	usage := t.Usage(node)
	if usage == nil {
		return
	}
	uid := types.UID(strings.TrimPrefix(id, standingPrefix))
	if back {
		held, _ := t.view.zoned.usage[node].HeldBy(uid)
		usage.Add(uid, nil, held)
	} else {
		usage.Remove(uid)
	}
	t.recount(node, usage)
}

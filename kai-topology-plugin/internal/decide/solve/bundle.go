package solve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// zoning is how groups that share a NUMA zone are put to the engine, which knows nodes and no zones.
type zoning struct {
	// prefer treats groups that prefer one zone like groups that need one.
	prefer bool
	// least asks for a zone for the pods that a group needs; without it, for all that are pending.
	least bool
	// placed, if set, asks for a zone for the pods that have a node in it.
	placed map[string]string
}

// zonings are the ways in which a request is put to the engine, one after the other until all pods have a node, or but
// for the first until the gang fits.
func (r Request) zonings() []zoning {
	prefers, requires := false, false
	for _, g := range r.gangs() {
		for _, group := range g.Tree.Groups() {
			prefers, requires = prefers || group.PrefersZone(), requires || group.RequiresZone()
		}
	}
	var ways []zoning
	if prefers && r.View.Zones().Enforcing() > 0 {
		ways = append(ways, zoning{prefer: true})
	}
	if ways = append(ways, zoning{}); requires && r.shared(zoning{}).pods > r.shared(zoning{least: true}).pods {
		ways = append(ways, zoning{least: true})
	}
	return ways
}

// shared is what pods of a request are to come from one NUMA zone.
type shared struct {
	bundles []*bundle
	// groups are those with a bundle.
	groups map[*podgrouptree.Group]bool
	// of has the bundle of each pending pod of a group that is to have one zone, whether or not it is one of its pods.
	of map[*corev1.Pod]*bundle
	// pins is what a pending pod asks of the zone into which it has to go, since other pods of its group stand there.
	pins map[*corev1.Pod]*zones.Demand
	// pods is how many are in bundles.
	pods int
}

// bundle is the pods of a group that are to come from one NUMA zone. To the engine they are one pod, which has the name
// of the first.
type bundle struct {
	gang   *gang.Gang
	group  *podgrouptree.Group
	pods   []*corev1.Pod
	demand *zones.Demand
}

// shared finds the outermost groups that need one zone for all their pods.
func (r Request) shared(way zoning) *shared {
	found := &shared{}
	for _, g := range r.gangs() {
		way.outermost(g.Tree.Root, func(group *podgrouptree.Group) { found.add(r, g, group, way) })
	}
	return found
}

// outermost visits the groups that need one zone for all their pods, and no groups inside these.
func (z zoning) outermost(group *podgrouptree.Group, visit func(*podgrouptree.Group)) {
	if group.RequiresZone() || z.prefer && group.PrefersZone() {
		visit(group)
		return
	}
	for _, child := range group.Children {
		z.outermost(child, visit)
	}
}

// add takes note of a group. Where pods of it stand already, the others join them one by one.
func (s *shared) add(r Request, g *gang.Gang, group *podgrouptree.Group, way zoning) {
	if s.of == nil {
		s.of, s.pins = map[*corev1.Pod]*bundle{}, map[*corev1.Pod]*zones.Demand{}
		s.groups = map[*podgrouptree.Group]bool{}
	}
	within := func(pod *corev1.Pod) bool { return gang.Within(g.Tree, group.Name, gang.LeafOf(pod)) }
	standing := slices.DeleteFunc(slices.Clone(g.Standing), func(pod *corev1.Pod) bool { return !within(pod) })
	if len(standing) > 0 {
		if zone := r.zoneOf(standing); zone != "" {
			for _, pod := range g.Pending {
				if within(pod) {
					s.pins[pod] = zones.InOneZone(pod).In(zone)
				}
			}
		}
		return
	}
	next, taken := &bundle{gang: g, group: group}, map[string]int32{}
	for _, pod := range g.Pending {
		if !within(pod) {
			continue
		}
		s.of[pod] = next
		if leaf := g.Tree.Leaf(gang.LeafOf(pod)); way.takes(pod, leaf, taken[leaf.Name]) {
			taken[leaf.Name]++
			next.pods = append(next.pods, pod)
		}
	}
	if len(next.pods) > 0 {
		next.demand = zones.InOneZone(next.pods...)
		s.bundles, s.pods = append(s.bundles, next), s.pods+len(next.pods)
		s.groups[group] = true
	}
}

// takes reports whether a pod of a leaf shares the zone; taken is the number of its pods that share it so far.
func (z zoning) takes(pod *corev1.Pod, leaf *podgrouptree.Group, taken int32) bool {
	if z.placed != nil {
		return z.placed[pod.Name] != ""
	}
	return !z.least || taken < leaf.MinMember
}

// zoneOf is the one zone of pods that stand; "" if it is not known, or they are in several.
func (r Request) zoneOf(standing []*corev1.Pod) (zone string) {
	for _, pod := range standing {
		at := slices.IndexFunc(r.Nodes, func(node fwk.NodeInfo) bool { return node.Node().Name == pod.Spec.NodeName })
		if at < 0 {
			return ""
		}
		usage := eligibility.UsageOn(r.View.Zones(), r.Nodes[at])
		if usage == nil {
			return ""
		}
		held, known := usage.HeldBy(pod.UID)
		in := held.In(r.View.Zones().Node(pod.Spec.NodeName))
		if !known || len(in) != 1 || zone != "" && in[0] != zone {
			return ""
		}
		zone = in[0]
	}
	return zone
}

// bundled reports whether all pods of a group that are placed are one bundle. A nil shared has none.
func (s *shared) bundled(group *podgrouptree.Group) bool { return s != nil && s.groups[group] }

// demands are what the pods of a request ask of zones, each once.
func (s *shared) demands(r Request) []*zones.Demand {
	known := map[string]*zones.Demand{}
	for _, g := range r.gangs() {
		for i, pod := range g.Pending {
			if i > 0 && kubeframework.Alike(g.Pending[i-1], pod) {
				continue
			}
			if demand := zones.DemandOf(pod); demand != nil {
				known[demand.String()] = demand
			}
		}
	}
	for _, demand := range s.pins {
		known[demand.String()] = demand
	}
	for _, each := range s.bundles {
		known[each.demand.String()] = each.demand
	}
	return slices.SortedFunc(maps.Values(known), func(a, b *zones.Demand) int {
		return cmp.Compare(a.String(), b.String())
	})
}

// shape is what a pod asks of a node: a bundle for its first pod, nothing for others of a bundle, and for a pod that
// has to join others their zone.
func (s *shared) shape(
	catalogue *zones.Catalogue, pod *corev1.Pod, shapeOf ShapeOf,
) (_ packing.Shape, asks bool, _ error) {
	if bundle := s.of[pod]; bundle != nil {
		if len(bundle.pods) == 0 || bundle.pods[0] != pod {
			return packing.Shape{}, false, nil
		}
		shape, err := bundle.shape(catalogue, shapeOf)
		return shape, true, err
	}
	shape, err := shapeOf(pod)
	if demand := s.pins[pod]; demand != nil && err == nil {
		shape.Requests, shape.Key = withoutZones(shape.Requests), shape.Key+" with "+demand.String()
		shape.Requests[eligibility.ZoneResource(demand)] = 1
	}
	return shape, true, err
}

func withoutZones(requests packing.Resources) packing.Resources {
	rest := maps.Clone(requests)
	maps.DeleteFunc(rest, func(name string, _ int64) bool { return eligibility.IsZoneResource(name) })
	return rest
}

// shape is what all pods of a bundle ask of one node.
func (b *bundle) shape(catalogue *zones.Catalogue, shapeOf ShapeOf) (packing.Shape, error) {
	whole := packing.Shape{Requests: packing.Resources{eligibility.ZoneResource(b.demand): 1}}
	var different []packing.Shape
	for _, pod := range b.pods {
		shape, err := shapeOf(pod)
		if err != nil {
			return whole, err
		}
		for resource, amount := range withoutZones(shape.Requests) {
			whole.Requests[resource] += amount
		}
		if !slices.ContainsFunc(different, func(other packing.Shape) bool { return other.Key == shape.Key }) {
			different = append(different, shape)
		}
		whole.Key += shape.Key + " and "
	}
	whole.Key += "all with " + b.demand.String()
	owner := eligibility.ZoneOwner(b.pods[0])
	whole.Excluded = func(node string) string {
		for i := range different {
			if different[i].Excluded != nil {
				if why := different[i].Excluded(node); why != "" {
					return why
				}
			}
		}
		return eligibility.ZoneObjection(catalogue, b.demand, owner, node)
	}
	return whole, nil
}

// collapse leaves of the pods of a bundle the first in a placement, and says what is wrong with the others.
func (b *bundle) collapse(nodes map[string]string) (faults []error) {
	first := b.pods[0]
	for _, pod := range b.pods[1:] {
		if nodes[pod.Name] != nodes[first.Name] {
			faults = append(faults, fmt.Errorf("pods %s and %s are to share a NUMA zone, and are on nodes %s and %s",
				first.Name, pod.Name, nodes[first.Name], nodes[pod.Name]))
		}
		delete(nodes, pod.Name)
	}
	if len(b.pods) < b.group.MinPods() {
		faults = append(faults, fmt.Errorf("group %q has %d of the %d pods it needs", b.group.Name, len(b.pods),
			b.group.MinPods()))
	}
	return faults
}

// spell has a plan that names the first pod of each bundle name all of its pods.
func (s *shared) spell(nodes map[string]string) {
	for _, each := range s.bundles {
		if node, placed := nodes[each.pods[0].Name]; placed {
			for _, pod := range each.pods {
				nodes[pod.Name] = node
			}
		}
	}
}

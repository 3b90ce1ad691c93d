package solve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
	"packtree.dev/shared/packing"
)

// clash is a node with pods of several demands that its kubelet would not admit together, in whatever order. One demand
// has to have fewer there.
type clash struct {
	node    string
	planned [][]unit
}

// unit is what gets a zone at once: a pod, or all pods of a bundle.
type unit struct {
	pods   []*corev1.Pod
	demand *zones.Demand
}

// units are the pods of a plan that ask for zones, by their node.
func (s *Session) units(nodes map[string]string) map[string][]unit {
	units := map[string][]unit{}
	for _, each := range s.shared.bundles {
		if node := nodes[each.pods[0].Name]; node != "" {
			units[node] = append(units[node], unit{each.pods, each.demand})
		}
	}
	var last *corev1.Pod
	var demand *zones.Demand
	for _, g := range s.request.gangs() {
		for _, pod := range g.Pending {
			node := nodes[pod.Name]
			if node == "" || s.shared.of[pod] != nil || !s.request.View.Zones().Node(node).Enforces() {
				continue
			}
			if last == nil || !kubeframework.Alike(last, pod) {
				last, demand = pod, zones.DemandOf(pod)
			}
			if asked := cmp.Or(s.shared.pins[pod], demand); asked != nil {
				units[node] = append(units[node], unit{[]*corev1.Pod{pod}, asked})
			}
		}
	}
	return units
}

// zoneClash plays the kubelets' choice of zones for a plan. It returns the first that does not work out in any order in
// which the pods may come, and else the order, if it matters.
func (s *Session) zoneClash(nodes map[string]string) (found *clash, order []string) {
	if s.request.View.Zones().Enforcing() == 0 {
		return nil, nil
	}
	units := s.units(nodes)
	for _, node := range slices.Sorted(maps.Keys(units)) {
		usage := s.Trial.Usage(node)
		if usage == nil {
			continue
		}
		arrivals := arrivalsOf(usage, units[node])
		if len(arrivals.kinds) == 1 || arrivals.admitted() {
			continue // The engine has counted how many of one kind fit.
		}
		if found := arrivals.clash(node); found != nil {
			return found, nil
		}
		for _, each := range arrivals.best {
			for _, pod := range each.pods {
				order = append(order, pod.Name)
			}
		}
	}
	return nil, order
}

// arrivals are orders in which units may come to a node.
type arrivals struct {
	usage *zones.Usage
	units []unit
	// kinds are the units by demand, the demand with the least room first.
	kinds [][]unit
	// best is the longest order found in which all are admitted, and steps how many were tried.
	best  []unit
	steps int
}

// maxArrivals bounds how many units are tried, one after the other, on one node.
const maxArrivals = 4096

func arrivalsOf(usage *zones.Usage, units []unit) *arrivals {
	a := &arrivals{usage: usage, units: units}
	byName := func(x, y unit) int { return cmp.Compare(x.pods[0].Name, y.pods[0].Name) }
	slices.SortFunc(a.units, byName)
	kinds := map[string][]unit{}
	for _, each := range a.units {
		kinds[each.demand.String()] = append(kinds[each.demand.String()], each)
	}
	a.kinds = slices.Collect(maps.Values(kinds))
	room := map[string]int64{}
	for name, of := range kinds {
		room[name] = usage.Room(of[0].demand, int64(len(units)))
	}
	slices.SortFunc(a.kinds, func(x, y []unit) int {
		one, other := x[0].demand.String(), y[0].demand.String()
		return cmp.Or(cmp.Compare(room[one], room[other]), cmp.Compare(one, other))
	})
	return a
}

// admitted reports whether all are admitted as they come by their names, which is how the queue has them.
func (a *arrivals) admitted() bool {
	usage := a.usage.Clone()
	for _, each := range a.units {
		held, admitted := usage.Admit(each.demand)
		if !admitted {
			return false
		}
		usage.Add(each.pods[0].UID, each.demand, held)
	}
	return true
}

// clash looks for an order in which all are admitted; nil if there is one.
func (a *arrivals) clash(node string) *clash {
	if a.arrive(a.usage, make([]int, len(a.kinds)), nil) {
		return nil
	}
	return &clash{node, a.kinds}
}

// arrive has the rest of the units come, given how many of each kind have come.
func (a *arrivals) arrive(usage *zones.Usage, came []int, order []unit) bool {
	if len(order) > len(a.best) {
		a.best = slices.Clone(order)
	}
	if len(order) == len(a.units) {
		return true
	}
	for i, kind := range a.kinds {
		if came[i] == len(kind) || a.steps >= maxArrivals {
			continue
		}
		a.steps++
		next := kind[came[i]]
		held, admitted := usage.Admit(next.demand)
		if !admitted {
			continue
		}
		after := usage.Clone()
		after.Add(next.pods[0].UID, next.demand, held)
		came[i]++
		if a.arrive(after, came, append(order, next)) {
			return true
		}
		came[i]--
	}
	return false
}

// zonesRefuse says which demand the zones of a node have no room for in a finished placement; "" if there is none.
func (s *Session) zonesRefuse(nodes map[string]string) string {
	found, _ := s.zoneClash(nodes)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("the NUMA zones of node %s have no room for all pods that are placed there", found.node)
}

// zonesDiffer is the answer if no plan was found in which pods of several demands share the zones of nodes.
func (s *Session) zonesDiffer() *Answer {
	return Held(s.request.Gang, &gang.Hold{
		Reason:  scheduling.ReasonUnknown,
		Message: "no placement was found in which the gang's pods share the NUMA zones of their nodes",
	})
}

// explainZones adds to sentences how many nodes have zones that are too full, and speaks of all pods of a bundle.
func (s *Session) explainZones(answer *Answer) {
	for i := range answer.Explanations {
		e := &answer.Explanations[i]
		for _, each := range s.shared.bundles {
			if !gang.Within(each.gang.Tree, each.group.Name, e.Group) {
				continue
			}
			if name, rest, found := strings.Cut(e.Sentence, ": "); found && !strings.Contains(name, " needs ") {
				e.Sentence = name + " needs one NUMA zone: " + rest
				e.Topology, e.Level = each.group.Constraint.Topology, each.group.Constraint.RequiredTopologyLevel
			}
			if pods := len(each.pods); pods > 1 && e.Wanted == 1 {
				e.Sentence = strings.Replace(e.Sentence, "0 of 1 pods fit",
					fmt.Sprintf("its %d pods do not fit together", pods), 1)
				e.Wanted = pods
			}
		}
		if full := s.tooFull(s.short(e)); full > 0 {
			e.Excluded = append(e.Excluded, packing.Exclusion{Reason: eligibility.ZonesTooFull, Nodes: full})
			e.Sentence = brief.Message(fmt.Sprintf("%s; %s excluded by %s", e.Sentence, brief.Count(full, "node"),
				eligibility.ZonesTooFull))
		}
	}
	if len(answer.Explanations) > 0 {
		answer.Message = answer.Explanations[0].Sentence
	}
}

// short returns the demand that an explanation says is short. If it says that nodes lack something else, it is the
// demand of the group's first pod, with what the pod asks for besides: some nodes may lack only zones. Without a demand
// it is empty.
func (s *Session) short(e *packing.Explanation) (resource string, besides packing.Resources) {
	for _, short := range e.Short {
		if eligibility.IsZoneResource(short.Resource) {
			return short.Resource, nil
		}
	}
	for _, g := range s.request.gangs() {
		for _, pod := range g.Pending {
			demand := zones.DemandOf(pod)
			if demand == nil || s.shared.of[pod] != nil || !gang.Within(g.Tree, e.Group, gang.LeafOf(pod)) {
				continue
			}
			if besides, err := kubeframework.Requests(pod); err == nil {
				return eligibility.ZoneResource(demand), besides
			}
		}
	}
	return "", nil
}

// tooFull counts the nodes that have no room for a demand in their zones now, but enough of the other resources.
func (s *Session) tooFull(resource string, besides packing.Resources) (full int) {
	demand := s.demandOf(resource)
	if demand == nil {
		return 0
	}
	for _, info := range s.request.Nodes {
		name := info.Node().Name
		node, lacks := s.request.View.Zones().Node(name), false
		for other, amount := range besides {
			lacks = lacks || s.Trial.Cluster.Free(name, other) < amount
		}
		if node.Enforces() && !lacks && s.Trial.Cluster.Free(name, resource) == 0 && node.Never(demand) == "" {
			full++
		}
	}
	return full
}

func (s *Session) demandOf(resource string) *zones.Demand {
	for _, demand := range s.demands {
		if eligibility.ZoneResource(demand) == resource {
			return demand
		}
	}
	return nil
}

// recount counts the pods of bundles, which to the engine are one each.
func (s *Session) recount(answer *Answer) {
	if len(s.shared.bundles) == 0 {
		return
	}
	placed := map[string]int{}
	for _, pod := range s.request.Gang.Pending {
		if answer.Nodes[pod.Name] != "" {
			placed[gang.LeafOf(pod)]++
		}
	}
	standing := s.request.Gang.StandingPods()
	for i := range answer.Groups {
		group := &answer.Groups[i]
		group.Placed = standing[group.Name]
		for leaf, pods := range placed {
			if gang.Within(s.request.Gang.Tree, group.Name, leaf) {
				group.Placed += pods
			}
		}
	}
}

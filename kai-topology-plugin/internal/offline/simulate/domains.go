package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/packing"
)

// domains count the topology domains that gangs use, and the fewest that could hold them on empty nodes.
type domains struct {
	// levels are those of each Topology, broadest first.
	levels map[string][]level
	// nodes has each node as a domain of its own.
	nodes level
	// offers is what each node has.
	offers map[string]packing.Resources
	// rooms has, by what a pod requests and a level, how many such pods each domain holds, the largest first.
	rooms map[roomKey][]int64
}

// level is a level of a Topology. Nodes without its labels are in no domain.
type level struct {
	topology, key string
	domainOf      map[string]string
}

type roomKey struct{ requests, topology, level string }

func newDomains(cluster *inventory.Inventory, all []fwk.NodeInfo) *domains {
	d := &domains{
		levels: map[string][]level{}, nodes: level{domainOf: map[string]string{}},
		offers: map[string]packing.Resources{}, rooms: map[roomKey][]int64{},
	}
	for _, node := range all {
		name := node.Node().Name
		d.nodes.domainOf[name], d.offers[name] = name, kubeframework.Allocatable(node)
	}
	for topology := range cluster.Topologies {
		keys := cluster.LevelKeys(topology)
		for depth, key := range keys {
			made := level{topology: topology, key: key, domainOf: map[string]string{}}
			for _, node := range all {
				if path, ok := nodes.Domain(node.Node().Labels, keys[:depth+1]); ok {
					made.domainOf[node.Node().Name] = path.String()
				}
			}
			d.levels[topology] = append(d.levels[topology], made)
		}
	}
	return d
}

// holds reports whether all nodes together, if they were empty, could hold pods.
func (d *domains) holds(pods kind) bool { return d.fewest(&d.nodes, pods) > 0 }

// least is how many domains of each level of some Topologies hold pods at least; 0 if all of them do not.
func (d *domains) least(topologies []string, kinds []kind) map[string]int {
	least := map[string]int{}
	for _, topology := range topologies {
		for i := range d.levels[topology] {
			at := &d.levels[topology][i]
			least[at.key] = d.leastAt(at, kinds)
		}
	}
	return least
}

// leastAt is as many domains as the pods of each kind need, and as all of them need for each resource.
func (d *domains) leastAt(at *level, kinds []kind) (most int) {
	if len(kinds) > 1 {
		total := packing.Resources{}
		for _, kind := range kinds {
			for resource, amount := range kind.requests {
				total[resource] += amount * kind.count
			}
		}
		kinds = slices.Clone(kinds)
		for resource, amount := range total {
			kinds = append(kinds, kind{packing.Resources{resource: 1}, amount})
		}
	}
	for _, kind := range kinds {
		if kind.count == 0 {
			continue
		}
		needed := d.fewest(at, kind)
		if needed == 0 {
			return 0
		}
		most = max(most, needed)
	}
	return most
}

// fewest is how many domains, the largest first, hold the pods of a kind; 0 if all of them do not.
func (d *domains) fewest(at *level, pods kind) int {
	left := pods.count
	for i, room := range d.roomsAt(at, pods.requests) {
		if left -= room; left <= 0 {
			return i + 1
		}
	}
	return 0
}

// roomsAt is how many pods that request this each domain holds, the largest first.
func (d *domains) roomsAt(at *level, requests packing.Resources) []int64 {
	key := roomKey{fmt.Sprint(requests), at.topology, at.key}
	if known, ok := d.rooms[key]; ok {
		return known
	}
	byDomain := map[string]int64{}
	for node, domain := range at.domainOf {
		byDomain[domain] += fits(requests, d.offers[node])
	}
	rooms := slices.SortedFunc(maps.Values(byDomain), func(a, b int64) int { return cmp.Compare(b, a) })
	d.rooms[key] = rooms
	return rooms
}

// fits is how many pods that request this an empty node holds; as good as any number if they request nothing.
func fits(requests, offered packing.Resources) int64 {
	most := int64(math.MaxInt64)
	for resource, amount := range requests {
		if amount > 0 {
			most = min(most, max(0, offered[resource])/amount)
		}
	}
	if most == math.MaxInt64 {
		return math.MaxInt32
	}
	return most
}

// locate counts the domains that pods stand in, by level, and the fewest domains that could hold the pods that stand in
// any.
func (d *domains) locate(topologies []string, standing []*corev1.Pod) (used, least map[string]int, err error) {
	used, least = map[string]int{}, map[string]int{}
	for _, topology := range topologies {
		for i := range d.levels[topology] {
			at := &d.levels[topology][i]
			in := map[string]bool{}
			var inside []*corev1.Pod
			for _, pod := range standing {
				if domain, ok := at.domainOf[pod.Spec.NodeName]; ok {
					in[domain] = true
					inside = append(inside, pod)
				}
			}
			kinds, err := kindsOf(inside)
			if err != nil {
				return nil, nil, err
			}
			used[at.key], least[at.key] = len(in), d.leastAt(at, kinds)
		}
	}
	return used, least, nil
}

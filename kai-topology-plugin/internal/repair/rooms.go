package repair

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/turns"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// rooms counts how many pods domains have room for, whatever else keeps pods from nodes.
type rooms struct {
	table    *turns.Table
	observer *clusterview.Observer
	// keys are the levels of each Topology, and places its domains by level.
	keys     map[string][]string
	places   map[level][]*place
	byDomain map[domain]*place
	// around has the domains of each node, by its place in nodes, in each Topology, the broadest first.
	around map[string][][]*place
	nodes  []string
	index  map[string]int
	// requests are those that were asked about, by their amounts; leaves has them by leaf, and pods what pods ask for.
	requests map[string]*request
	leaves   map[*podgrouptree.Group]*request
	pods     map[*corev1.Pod]packing.Resources
}

// domain is one of a Topology, by its path from the broadest level on.
type domain struct{ topology, path string }

// level is one of a Topology.
type level struct{ topology, key string }

func levelOf(group *podgrouptree.Group) level {
	return level{group.Constraint.Topology, group.Constraint.RequiredTopologyLevel}
}

// place is a domain with the indexes of its nodes.
type place struct {
	domain
	depth  int
	nodes  []int
	outer  *place
	inside []*place
}

// request is what pods ask for, and how many such pods each node has room for.
type request struct {
	amounts packing.Resources
	room    []int
}

// newRooms reads where nodes stand. Requests that were asked about before are counted anew.
func newRooms(table *turns.Table, observer *clusterview.Observer, requests map[string]*request) *rooms {
	r := &rooms{
		observer: observer, keys: map[string][]string{}, places: map[level][]*place{}, byDomain: map[domain]*place{},
		around: map[string][][]*place{}, index: map[string]int{}, requests: requests,
	}
	r.use(table)
	for i, node := range table.Nodes() {
		r.nodes = append(r.nodes, node.Node().Name)
		r.index[node.Node().Name] = i
	}
	for _, request := range requests {
		r.countAll(request)
	}
	cluster := table.Inventory()
	for name := range cluster.Topologies {
		keys := cluster.LevelKeys(name)
		r.keys[name] = keys
		for i, node := range table.Nodes() {
			r.around[name] = append(r.around[name], r.stand(name, keys, i, along(node.Node().Labels, keys)))
		}
	}
	return r
}

// stand puts a node into the domains of its path.
func (r *rooms) stand(topology string, keys []string, node int, path packing.Path) (around []*place) {
	for depth := range path {
		at := domain{topology, path[:depth+1].String()}
		found := r.byDomain[at]
		if found == nil {
			found = &place{domain: at, depth: depth}
			r.byDomain[at] = found
			of := level{topology, keys[depth]}
			r.places[of] = append(r.places[of], found)
			if depth > 0 {
				found.outer = around[depth-1]
				found.outer.inside = append(found.outer.inside, found)
			}
		}
		found.nodes = append(found.nodes, node)
		around = append(around, found)
	}
	return around
}

// use has gangs and pods be those of a table.
func (r *rooms) use(table *turns.Table) {
	r.table, r.leaves, r.pods = table, map[*podgrouptree.Group]*request{}, map[*corev1.Pod]packing.Resources{}
}

// count counts the room on nodes that have changed.
func (r *rooms) count(changed []clusterview.Changed) {
	for _, node := range changed {
		for _, request := range r.requests {
			request.room[r.index[node.Name]] = fitting(r.observer.Free(node.Name), request.amounts)
		}
	}
}

// level returns the domains of the level that a group requires; false if its Topology is not known to have it.
func (r *rooms) level(group *podgrouptree.Group) ([]*place, bool) {
	of := levelOf(group)
	return r.places[of], slices.Contains(r.keys[of.topology], of.key)
}

// domainsOf returns the domains in which pods of a group stand, of the level that it requires; false if they are not
// all in one.
func (r *rooms) domainsOf(group *podgrouptree.Group, pods []*corev1.Pod) (sets.Set[domain], bool) {
	of, found := levelOf(group), sets.New[domain]()
	depth := slices.Index(r.keys[of.topology], of.key)
	for _, pod := range pods {
		node, known := r.index[pod.Spec.NodeName]
		if depth < 0 || !known || len(r.around[of.topology][node]) <= depth {
			return nil, false
		}
		found.Insert(r.around[of.topology][node][depth].domain)
	}
	return found, true
}

// needsOf returns the least that pods of each leaf in a group ask for.
func (r *rooms) needsOf(of *gang.Gang, group *podgrouptree.Group) (map[*podgrouptree.Group]*request, error) {
	needs := map[*podgrouptree.Group]*request{}
	for _, leaf := range of.Tree.Leaves() {
		if r.leaves[leaf] == nil {
			least, err := r.least(of, leaf)
			if err != nil {
				return nil, err
			}
			if r.leaves[leaf], err = r.request(least); err != nil {
				return nil, err
			}
		}
		for at := leaf; at != nil; at = at.Parent {
			if at == group {
				needs[leaf] = r.leaves[leaf]
			}
		}
	}
	return needs, nil
}

// least returns the least of each resource that any pod of a leaf asks for.
func (r *rooms) least(of *gang.Gang, leaf *podgrouptree.Group) (least packing.Resources, err error) {
	for _, pod := range slices.Concat(of.Standing, of.Pending) {
		if of.Tree.Leaf(gang.LeafOf(pod)) != leaf {
			continue
		}
		asks, err := r.asks(pod)
		if err != nil {
			return nil, err
		}
		if least == nil {
			least = maps.Clone(asks)
		}
		for resource, amount := range least {
			least[resource] = min(amount, asks[resource])
		}
	}
	return least, nil
}

func (r *rooms) asks(pod *corev1.Pod) (asks packing.Resources, err error) {
	if r.pods[pod] == nil {
		if r.pods[pod], err = r.table.Requests(pod); err != nil {
			return nil, fmt.Errorf("reading the requests of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return r.pods[pod], nil
}

// request returns the one for some amounts.
func (r *rooms) request(amounts packing.Resources) (*request, error) {
	key, err := json.Marshal(amounts)
	if err != nil {
		return nil, fmt.Errorf("telling requests apart: %w", err)
	}
	if r.requests[string(key)] == nil {
		r.requests[string(key)] = &request{amounts: amounts}
		r.countAll(r.requests[string(key)])
	}
	return r.requests[string(key)], nil
}

func (r *rooms) countAll(request *request) {
	request.room = make([]int, len(r.nodes))
	for i, name := range r.nodes {
		request.room[i] = fitting(r.observer.Free(name), request.amounts)
	}
}

// forget drops the requests that no ground needs any more.
func (r *rooms) forget(known map[[2]string]*foretold) {
	needed := sets.New[*request]()
	for _, made := range known {
		for _, free := range made.ground.free {
			needed.Insert(slices.Collect(maps.Values(free.needs))...)
		}
	}
	maps.DeleteFunc(r.requests, func(_ string, request *request) bool { return !needed.Has(request) })
}

// fitting is how many times amounts fit into what is free.
func fitting(free, amounts packing.Resources) int {
	times := int64(math.MaxInt32)
	for resource, amount := range amounts {
		if amount > 0 {
			times = min(times, max(0, free[resource])/amount)
		}
	}
	return int(times)
}

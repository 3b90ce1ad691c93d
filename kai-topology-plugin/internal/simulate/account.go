package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/shared/packing"
)

// Idle is resource-seconds of the scarcest device that nobody used, by why.
type Idle struct {
	// NoDemand is more than all gangs that waited asked for.
	NoDemand float64 `json:"noDemand"`
	// Filters is on nodes that no gang that waited could use: cordons, taints, node selectors and node affinity.
	Filters float64 `json:"filters"`
	// Reserved is in domains that were kept for a gang that others had overtaken too often.
	Reserved float64 `json:"reserved"`
	// Unavoidable is of no use to those that waited even if everybody who ran could move.
	Unavoidable float64 `json:"unavoidable"`
	// Avoidable would have been used by those that waited, by amounts, if those who ran could have moved.
	Avoidable float64 `json:"avoidable"`
}

func (i *Idle) add(other Idle, times float64) {
	i.NoDemand += other.NoDemand * times
	i.Filters += other.Filters * times
	i.Reserved += other.Reserved * times
	i.Unavoidable += other.Unavoidable * times
	i.Avoidable += other.Avoidable * times
}

// Sample is what was in use from a moment on.
type Sample struct {
	At      float64            `json:"at"`
	Used    map[string]float64 `json:"used"`
	Waiting int                `json:"waiting"`
	Running int                `json:"running"`
}

// size is what a gang asks for.
type size struct {
	// device is its amount of the scarcest device.
	device float64
	// levels are the node label keys of each Topology that the gang names.
	levels [][]string
	// least has the fewest domains of each level that could hold the pods if nobody stood there.
	least map[string]int
	// impossible tells that no domain of a required level of the whole gang could.
	impossible bool
}

// account counts what is used and idle.
type account struct {
	cluster  *inventory.Inventory
	capacity map[string]float64
	// device is the scarcest device, and free what of it is on nodes that are up.
	device string
	offers map[string]packing.Resources
	used   map[string]float64
	free   float64
	idle   Idle
	now    Idle
	series []Sample
	sizes  map[string]size
}

// newAccount adds up the cluster, and finds the scarcest device: that of which the stream asks for most, in
// resource-seconds, of what there is.
func newAccount(s *simulator, stream []Event) (*account, error) {
	a := &account{
		cluster: s.cluster, capacity: map[string]float64{}, offers: map[string]packing.Resources{}, used: map[string]float64{}, sizes: map[string]size{},
	}
	nodes, err := s.offline.Nodes()
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		a.offers[node.Node().Name] = kubeframework.Allocatable(node)
		for resource, amount := range a.offers[node.Node().Name] {
			a.capacity[resource] += float64(amount)
		}
	}
	asked := map[string]float64{}
	for _, event := range stream {
		if event.Job == nil {
			continue
		}
		duration := event.Job.Duration
		if math.IsInf(duration, 1) {
			duration = math.MaxInt32
		}
		requests, err := requestsOf(event.Job.Pods)
		if err != nil {
			return nil, fmt.Errorf("gang %s: %w", event.Job.Name, err)
		}
		for resource, amount := range requests {
			asked[resource] += float64(amount) * duration
		}
	}
	a.device = scarcest(asked, a.capacity)
	a.free = a.capacity[a.device]
	a.use(inventory.Standing(s.cluster.Pods), 1)
	return a, nil
}

// scarcest prefers devices, whose names have a domain, to CPU and memory.
func scarcest(asked, capacity map[string]float64) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(asked)), func(name string) bool { return name == kubeframework.ResourcePods || asked[name] == 0 })
	if len(names) == 0 {
		names = append(slices.Sorted(maps.Keys(capacity)), string(corev1.ResourceCPU))
	}
	device := func(name string) float64 {
		if strings.Contains(name, "/") {
			return 1
		}
		return 0
	}
	return slices.MaxFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(device(x), device(y)), cmp.Compare(asked[x]/capacity[x], asked[y]/capacity[y]), cmp.Compare(y, x))
	})
}

func requestsOf(pods []*corev1.Pod) (packing.Resources, error) {
	sum := packing.Resources{}
	for _, pod := range pods {
		requests, err := kubeframework.Requests(pod)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		for resource, amount := range requests {
			sum[resource] += amount
		}
	}
	return sum, nil
}

// use counts pods that take their nodes, or give them up if times is -1.
func (a *account) use(pods []*corev1.Pod, times float64) {
	requests, err := requestsOf(pods)
	if err != nil {
		return // They have been read before.
	}
	for resource, amount := range requests {
		a.used[resource] += times * float64(amount)
	}
	a.free -= times * float64(requests[a.device])
}

// offer counts a node that returns, or is gone if times is -1. Nobody stands on it.
func (a *account) offer(node *corev1.Node, times float64) {
	a.free += times * float64(a.offers[node.Name][a.device])
}

// pass lets time go by.
func (a *account) pass(from, to float64) { a.idle.add(a.now, to-from) }

// look takes a sample, and divides what is idle from now on.
func (a *account) look(ctx context.Context, s *simulator) error {
	sample := Sample{At: s.now, Used: maps.Clone(a.used), Running: len(s.active)}
	for _, r := range s.waiting {
		if !r.running {
			sample.Waiting++
		}
	}
	if last := len(a.series) - 1; last >= 0 && a.series[last].At == s.now {
		a.series = a.series[:last]
	}
	a.series = append(a.series, sample)
	return a.divide(ctx, s)
}

// divide says why what is idle now is idle. Demand is looked at by rank: each gang is given what it asks for of what is
// left, if that and a domain of its level, were it empty, suffice.
func (a *account) divide(ctx context.Context, s *simulator) error {
	left := max(0, a.free)
	a.now = Idle{}
	var waiting []*run
	demand := 0.0
	for _, r := range s.waiting {
		if !r.running {
			waiting = append(waiting, r)
			demand += r.size.device
		}
	}
	take := func(from *float64, amount float64) {
		amount = max(0, min(amount, left))
		*from += amount
		left -= amount
	}
	if len(waiting) == 0 {
		take(&a.now.NoDemand, left)
		return nil
	}
	filtered, kept, err := a.outOfReach(ctx, s, waiting)
	if err != nil {
		return err
	}
	take(&a.now.Filters, filtered)
	take(&a.now.Reserved, kept)
	take(&a.now.NoDemand, left-demand)
	for _, r := range waiting {
		if !r.size.impossible && r.size.device <= left {
			take(&a.now.Avoidable, r.size.device)
		}
	}
	take(&a.now.Unavoidable, left)
	return nil
}

// outOfReach adds up what is free on nodes that none of those who wait may use, and then on nodes that are kept from
// all of them but the one whom they are kept for.
func (a *account) outOfReach(ctx context.Context, s *simulator, waiting []*run) (filtered, kept float64, err error) {
	nodes, err := s.offline.Nodes()
	if err != nil {
		return 0, 0, err
	}
	last := s.assemble(waiting[len(waiting)-1])
	closed := s.keeper.ClosedTo(ctx, last, nodes)
	selects := slices.ContainsFunc(waiting, func(r *run) bool { return slices.ContainsFunc(r.pending, selective) })
	for _, info := range nodes {
		node := info.Node()
		free := float64(a.offers[node.Name][a.device] - kubeframework.Used(info)[a.device])
		if free <= 0 {
			continue
		}
		plain := !selects && len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable
		open := func(r *run) bool { return accepts(node, r.pending[0]) }
		switch {
		case !plain && !slices.ContainsFunc(waiting, open):
			filtered += free
		case len(closed.Room[node.Name]) > 0:
			kept += free
		}
	}
	return filtered, kept, nil
}

func selective(pod *corev1.Pod) bool {
	return len(pod.Spec.NodeSelector) > 0 || pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil
}

// accepts reports whether a node takes a pod, as far as cordon, taints, selector and affinity say.
func accepts(node *corev1.Node, pod *corev1.Pod) bool {
	if match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !match || node.Spec.Unschedulable {
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(logger, node.Spec.Taints, pod.Spec.Tolerations, func(taint *corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule
	}, true)
	return !untolerated
}

// sizeOf is what a gang asks for. Gangs that ask for the same share it.
func (a *account) sizeOf(job *Job) size {
	requests, _ := requestsOf(job.Pods)
	constraint := job.PodGroup.Spec.TopologyConstraint
	each := map[string]int64{}
	for _, pod := range job.Pods {
		asked, _ := kubeframework.Requests(pod)
		each[fmt.Sprint(asked)]++
	}
	key := fmt.Sprint(each, constraint, job.PodGroup.Spec.SubGroups)
	if known, ok := a.sizes[key]; ok {
		return known
	}
	found := size{device: float64(requests[a.device]), least: map[string]int{}}
	names := sets.New[string]()
	if constraint != nil && constraint.Topology != "" {
		names.Insert(constraint.Topology)
	}
	for _, sub := range job.PodGroup.Spec.SubGroups {
		if sub.TopologyConstraint != nil && sub.TopologyConstraint.Topology != "" {
			names.Insert(sub.TopologyConstraint.Topology)
		}
	}
	for _, name := range sets.List(names) {
		keys := a.cluster.LevelKeys(name)
		found.levels = append(found.levels, keys)
		for depth, level := range keys {
			found.least[level] = a.fewest(job.Pods, keys[:depth+1])
		}
	}
	if constraint != nil && constraint.RequiredTopologyLevel != "" {
		levels, _ := a.cluster.Levels(constraint.Topology)
		needed := found.least[levels.Key(constraint.RequiredTopologyLevel)]
		found.impossible = needed > 1 || needed == 0
	}
	a.sizes[key] = found
	return found
}

// fewest is how many domains of a level, at least, hold pods of each kind if nobody stands there; 0 if all do not.
func (a *account) fewest(pods []*corev1.Pod, keys []string) int {
	kinds := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		requests, _ := kubeframework.Requests(pod)
		kinds[fmt.Sprint(requests)] = append(kinds[fmt.Sprint(requests)], pod)
	}
	most := 0
	for _, alike := range kinds {
		requests, _ := kubeframework.Requests(alike[0])
		rooms := map[string]int64{}
		for _, node := range a.cluster.Nodes {
			if path, ok := domainOf(node, keys); ok {
				rooms[path] += fits(requests, a.offers[node.Name])
			}
		}
		needed, count := int64(len(alike)), 0
		for _, room := range slices.SortedFunc(maps.Values(rooms), func(x, y int64) int { return cmp.Compare(y, x) }) {
			if needed <= 0 || room == 0 {
				break
			}
			needed -= room
			count++
		}
		if needed > 0 {
			return 0
		}
		most = max(most, count)
	}
	return most
}

func fits(requests, offered packing.Resources) int64 {
	count := int64(math.MaxInt32)
	for resource, amount := range requests {
		if amount > 0 {
			count = min(count, offered[resource]/amount)
		}
	}
	return count
}

// domainOf is the domain of a node at the last of the keys, as its path.
func domainOf(node *corev1.Node, keys []string) (string, bool) {
	var path packing.Path
	for _, key := range keys {
		value, ok := node.Labels[key]
		if !ok {
			return "", false
		}
		path = append(path, value)
	}
	return path.String(), true
}

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

// account counts what is used and idle. Amounts are those of kube-scheduler: CPU in millicores.
type account struct {
	terrain *terrain
	// names are the resources that the nodes offer, capacity how much all of them have, and free what is left on those
	// that are not down.
	names          []string
	capacity, free packing.Resources
	// used is what all pods take.
	used packing.Resources
	// device is the scarcest device, and left what of it is on each node; of one that is down it is none.
	device string
	left   []int64
	isDown []bool
	// idle is up to now, and now what is idle in a second from now on.
	idle, now Idle
	pieces    []*pieces
	series    []sample
	// last is the pod whose requests were read last, and lastAsked are these.
	last      *corev1.Pod
	lastAsked packing.Resources
	acceptance
}

// sample is what was in use from a moment on.
type sample struct {
	at               float64
	used             []int64
	waiting, running int
}

// newAccount adds up the cluster, without the pods on it.
func newAccount(t *terrain, stream []Event) (*account, error) {
	a := &account{
		terrain: t, capacity: packing.Resources{}, used: packing.Resources{}, free: packing.Resources{},
		left: make([]int64, len(t.names)), isDown: make([]bool, len(t.names)), acceptance: newAcceptance(t.nodes),
	}
	for _, offered := range t.offers {
		for resource, amount := range offered {
			a.capacity[resource] += amount
		}
	}
	maps.DeleteFunc(a.capacity, func(_ string, amount int64) bool { return amount == 0 })
	a.names = slices.Sorted(maps.Keys(a.capacity))
	maps.Copy(a.free, a.capacity)
	asked, err := a.askedFor(stream)
	if err != nil {
		return nil, err
	}
	a.device = scarcest(asked, a.capacity)
	for i, offered := range t.offers {
		a.left[i] = offered[a.device]
	}
	a.pieces = newPieces(t, a.device)
	return a, nil
}

// askedFor is what a stream asks for, in resource-seconds.
func (a *account) askedFor(stream []Event) (map[string]float64, error) {
	asked := map[string]float64{}
	for _, event := range stream {
		if event.Job == nil {
			continue
		}
		seconds := min(event.Job.Duration, math.MaxInt32)
		if event.Job.shape != nil {
			size, err := a.terrain.sizeOf(event.Job)
			if err != nil {
				return nil, err
			}
			for resource, amount := range size.each {
				asked[resource] += float64(amount) * float64(size.count) * seconds
			}
			continue
		}
		requests, err := requestsOf(event.Job.pods)
		if err != nil {
			return nil, fmt.Errorf("gang %s: %w", event.Job.Name, err)
		}
		for resource, amount := range requests {
			asked[resource] += float64(amount) * seconds
		}
	}
	return asked, nil
}

// measure adds to the size of a gang what it asks for of the device, and which nodes its pods accept.
func (a *account) measure(of *size, pods []*corev1.Pod) (err error) {
	if of.classes != nil {
		return nil
	}
	if of.each != nil {
		of.device = float64(of.each[a.device]) * float64(of.count)
		of.classes, err = a.classesOf([]*corev1.Pod{{}})
		return err
	}
	requests, err := requestsOf(pods)
	if err != nil {
		return err
	}
	of.device = float64(requests[a.device])
	of.classes, err = a.classesOf(pods)
	return err
}

// scarcest is the resource of which a stream asks for most of what there is. Devices, whose names have a domain, go
// before CPU and memory.
func scarcest(asked map[string]float64, capacity packing.Resources) string {
	names := slices.Sorted(maps.Keys(capacity))
	if wanted := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == kubeframework.ResourcePods || asked[name] == 0
	}); len(wanted) > 0 {
		names = wanted
	}
	if len(names) == 0 {
		return string(corev1.ResourceCPU)
	}
	device := func(name string) int {
		switch {
		case strings.Contains(name, "/"):
			return 2
		case name == kubeframework.ResourcePods:
			return 0
		}
		return 1
	}
	return slices.MaxFunc(names, func(x, y string) int {
		share := func(name string) float64 { return asked[name] / float64(capacity[name]) }
		return cmp.Or(cmp.Compare(device(x), device(y)), cmp.Compare(share(x), share(y)), cmp.Compare(y, x))
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

// stand counts pods that take their nodes, or give them up if times is -1. Pods that are alike come one after the
// other.
func (a *account) stand(pods []*corev1.Pod, times int64) error {
	for at := 0; at < len(pods); {
		if a.last == nil || !kubeframework.Alike(a.last, pods[at]) {
			requests, err := kubeframework.Requests(pods[at])
			if err != nil {
				return fmt.Errorf("pod %s/%s: %w", pods[at].Namespace, pods[at].Name, err)
			}
			a.last, a.lastAsked = pods[at], requests
		}
		requests, first := a.lastAsked, at
		for ; at < len(pods) && (at == first || kubeframework.Alike(pods[at-1], pods[at])); at++ {
			a.take(a.terrain.index[pods[at].Spec.NodeName], times*requests[a.device])
		}
		for resource, amount := range requests {
			amount *= times * int64(at-first)
			a.used[resource] += amount
			a.free[resource] -= amount
		}
	}
	return nil
}

// take counts what pods take of the device on a node.
func (a *account) take(node int32, amount int64) {
	a.left[node] -= amount
	for _, at := range a.pieces {
		at.add(node, -amount)
	}
}

// offer counts a node that returns, or is down if times is -1. Nobody stands on it.
func (a *account) offer(node string, times int64) {
	at := a.terrain.index[node]
	a.isDown[at] = times < 0
	for resource, amount := range a.terrain.offers[at] {
		a.free[resource] += times * amount
	}
	for _, level := range a.pieces {
		level.add(at, times*a.terrain.offers[at][a.device])
	}
}

// lacking returns the resources of which what is free, all of it together, is too little for a gang of which only
// numbers are given.
func (a *account) lacking(of *size) (resources []string) {
	for resource, amount := range of.each {
		if amount > 0 && a.free[resource]/amount < of.count {
			resources = append(resources, resource)
		}
	}
	slices.Sort(resources)
	return resources
}

// pass lets seconds go by.
func (a *account) pass(seconds float64) {
	a.idle.NoDemand += a.now.NoDemand * seconds
	a.idle.Filters += a.now.Filters * seconds
	a.idle.Reserved += a.now.Reserved * seconds
	a.idle.Unavoidable += a.now.Unavoidable * seconds
	a.idle.Avoidable += a.now.Avoidable * seconds
	for _, at := range a.pieces {
		at.sum += at.now * seconds
	}
}

// look takes a sample.
func (a *account) look(s *simulator) {
	taken := sample{at: s.now, used: make([]int64, len(a.names)), running: len(s.active)}
	for i, name := range a.names {
		taken.used[i] = a.used[name]
	}
	for _, r := range s.waiting {
		if !r.running {
			taken.waiting++
		}
	}
	if last := len(a.series) - 1; last >= 0 && a.series[last].at == s.now {
		a.series = a.series[:last]
	}
	a.series = append(a.series, taken)
}

// divide says why what is idle now is idle. Demand is looked at by rank: each gang is given what it asks for of what is
// left, if that and a domain of its level, were it empty, suffice.
func (a *account) divide(ctx context.Context, s *simulator) error {
	left, demand := max(0, float64(a.free[a.device])), 0.0
	a.now = Idle{}
	for _, at := range a.pieces {
		at.look()
	}
	var waiting []*run
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
	if left > 0 {
		filtered, kept, err := a.outOfReach(ctx, s, waiting)
		if err != nil {
			return err
		}
		take(&a.now.Filters, float64(filtered))
		take(&a.now.Reserved, float64(kept))
	}
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
func (a *account) outOfReach(ctx context.Context, s *simulator, waiting []*run) (filtered, kept int64, err error) {
	odd := a.odd(waiting)
	closed, err := s.closedToLast(ctx, waiting)
	if err != nil || odd == nil && closed == nil {
		return 0, 0, err
	}
	for i, node := range a.terrain.nodes {
		free := a.left[i]
		if free <= 0 || a.isDown[i] {
			continue
		}
		switch {
		case odd != nil && odd(i):
			filtered += free
		case closed != nil && slices.Contains(closed.On(node.Labels), a.device):
			kept += free
		}
	}
	return filtered, kept, nil
}

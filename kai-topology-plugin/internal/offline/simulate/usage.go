package simulate

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/packing"
)

// usage counts what pods take. Amounts are those of kube-scheduler: CPU in millicores.
type usage struct {
	// capacity is what all nodes offer, and free what is left on nodes that are not down.
	capacity, free, used packing.Resources
	series               []Sample
}

func newUsage(nodes []fwk.NodeInfo) *usage {
	u := &usage{capacity: packing.Resources{}, used: packing.Resources{}}
	for _, node := range nodes {
		for resource, amount := range kubeframework.Allocatable(node) {
			u.capacity[resource] += amount
		}
	}
	maps.DeleteFunc(u.capacity, func(_ string, amount int64) bool { return amount == 0 })
	u.free = maps.Clone(u.capacity)
	return u
}

// stand counts pods that take their nodes, or give them up if times is -1.
func (u *usage) stand(pods []*corev1.Pod, times int64) error {
	kinds, err := kindsOf(pods)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		for resource, amount := range kind.requests {
			u.used[resource] += times * amount * kind.count
			u.free[resource] -= times * amount * kind.count
		}
	}
	return nil
}

// offer counts an empty node that returns, or is down if times is -1.
func (u *usage) offer(offered packing.Resources, times int64) {
	for resource, amount := range offered {
		u.free[resource] += times * amount
	}
}

// lacking returns the resources with too little free, summed over all nodes, for the pods.
func (u *usage) lacking(pods kind) (lacking []packing.Shortage) {
	for _, resource := range slices.Sorted(maps.Keys(pods.requests)) {
		if amount := pods.requests[resource]; amount > 0 && u.free[resource]/amount < pods.count {
			lacking = append(lacking, packing.Shortage{Resource: resource})
		}
	}
	return lacking
}

// sample records what is in use from a moment on. Of several samples of one moment the last one holds.
func (u *usage) sample(at float64, waiting, running int) {
	taken := Sample{At: at, Used: map[string]float64{}, Waiting: waiting, Running: running}
	for resource := range u.capacity {
		taken.Used[resource] = nodes.InUnits(resource, u.used[resource])
	}
	if last := len(u.series) - 1; last >= 0 && u.series[last].At == at {
		u.series = u.series[:last]
	}
	u.series = append(u.series, taken)
}

// kind is pods that request the same.
type kind struct {
	requests packing.Resources
	count    int64
}

// kindsOf groups pods by what they request.
func kindsOf(pods []*corev1.Pod) (kinds []kind, err error) {
	known := map[string]int{}
	at := 0
	for i, pod := range pods {
		if i == 0 || !kubeframework.Alike(pods[i-1], pod) {
			requests, err := kubeframework.Requests(pod)
			if err != nil {
				return nil, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
			}
			key := fmt.Sprint(requests)
			if _, seen := known[key]; !seen {
				known[key] = len(kinds)
				kinds = append(kinds, kind{requests: requests})
			}
			at = known[key]
		}
		kinds[at].count++
	}
	return kinds, nil
}

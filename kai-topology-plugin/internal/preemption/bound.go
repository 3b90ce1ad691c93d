package preemption

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing"
)

// bound is what room for the gang costs in a domain at least. It adds up resources as if the domain were one node, so
// that it can be had without a decision of the engine.
func (s *search) bound(d *domain) Cost {
	least := s.leastOf(d)
	cost := Cost{Priority: s.leastPriority(d), Gangs: s.leastGangs(d), Pods: s.leastPods(d)}
	for name, amount := range d.lacking {
		if s.q.Device != nil && s.q.Device(name) {
			cost.Devices += amount
		}
	}
	cost.Devices, cost.Pods = max(cost.Devices, least.Devices), max(cost.Pods, least.Pods)
	whole := s.wholes(d)
	for i := range min(cost.Gangs, len(whole.devices)) {
		whole.sumDevices += whole.devices[i]
		whole.sumPods += whole.pods[i]
	}
	cost.Devices, cost.Pods = max(cost.Devices, whole.sumDevices), max(cost.Pods, whole.sumPods)
	return cost
}

// lacking returns by how much the demand is above what is free.
func (s *search) lacking(d *domain, demand packing.Resources) packing.Resources {
	lacking := packing.Resources{}
	for name, amount := range demand {
		for _, node := range d.nodes {
			amount -= s.q.Cluster.Free(node, name)
		}
		if amount > 0 {
			lacking[name] = amount
		}
	}
	return lacking
}

// leastPriority is the priority up to which occupants have to leave to free what is lacking, the least important first.
func (s *search) leastPriority(d *domain) int32 {
	occupants := slices.Clone(d.occupants)
	slices.SortFunc(occupants, func(a, b occupant) int {
		return cmp.Compare(s.workloads[a.workload].Priority, s.workloads[b.workload].Priority)
	})
	rest := clone(d.lacking)
	for _, t := range occupants {
		for _, p := range t.pods {
			for name, amount := range s.workloads[t.workload].Pods[p].Requests {
				if rest[name] -= amount; rest[name] <= 0 {
					delete(rest, name)
				}
			}
		}
		if len(rest) == 0 {
			return s.workloads[t.workload].Priority
		}
	}
	return s.workloads[occupants[len(occupants)-1].workload].Priority
}

func clone(resources packing.Resources) packing.Resources {
	result := make(packing.Resources, len(resources))
	for name, amount := range resources {
		result[name] = amount
	}
	return result
}

// leastPods is how many pods have to leave: for each resource, those that hold most of it.
func (s *search) leastPods(d *domain) int {
	return mostly(d.lacking, func(name string) []int64 {
		var held []int64
		for _, t := range d.occupants {
			for _, p := range t.pods {
				held = append(held, s.workloads[t.workload].Pods[p].Requests[name])
			}
		}
		return held
	}, func(string) int64 { return 0 })
}

// leastGangs is how many gangs have to leave as a whole, once all has left that can without that.
func (s *search) leastGangs(d *domain) int {
	return mostly(d.lacking, func(name string) []int64 {
		var held []int64
		for _, t := range d.occupants {
			if w := s.workloads[t.workload]; w.Gang && w.rigid() {
				held = append(held, s.heldBy(t, name))
			}
		}
		return held
	}, func(name string) (others int64) {
		for _, t := range d.occupants {
			if w := s.workloads[t.workload]; !w.Gang || !w.rigid() {
				others += s.heldBy(t, name)
			}
		}
		return others
	})
}

func (s *search) heldBy(t occupant, name string) (held int64) {
	for _, p := range t.pods {
		held += s.workloads[t.workload].Pods[p].Requests[name]
	}
	return held
}

// mostly returns how many of the largest amounts make up for what is lacking beyond the free ones, in the resource
// that takes most of them.
func mostly(lacking packing.Resources, held func(name string) []int64, free func(name string) int64) (count int) {
	for name, amount := range lacking {
		amount -= free(name)
		amounts := held(name)
		slices.Sort(amounts)
		needed := 0
		for ; amount > 0 && needed < len(amounts); needed++ {
			amount -= amounts[len(amounts)-1-needed]
		}
		count = max(count, needed)
	}
	return count
}

// rigid reports whether the workload leaves as a whole or not at all.
func (w *workload) rigid() bool {
	if w.flexibility == unknown {
		w.flexibility = flexible
		if !slices.ContainsFunc(w.oneOfEach(), func(pod int) bool { return w.leavesAlone(pod) }) {
			w.flexibility = rigid
		}
	}
	return w.flexibility == rigid
}

// leavesAlone reports whether a pod can leave without all others.
func (w *workload) leavesAlone(pod int) bool {
	leaves := make([]bool, len(w.Pods))
	leaves[pod] = true
	return !w.Complete(leaves)
}

// oneOfEach returns a pod of each leaf: who leaves with it is the same for all pods of the leaf.
func (w *workload) oneOfEach() (pods []int) {
	seen := map[string]bool{}
	for p := range w.Pods {
		if leaf := w.Pods[p].Leaf; !seen[leaf] {
			seen[leaf] = true
			pods = append(pods, p)
		}
	}
	return pods
}

// leastOf is the least that anybody's leaving costs.
func (s *search) leastOf(d *domain) Cost {
	var least Cost
	for i, t := range d.occupants {
		w := s.workloads[t.workload]
		pods, devices := 1, slices.Min(w.devices)
		if w.rigid() {
			pods, devices = len(w.Pods), sum(w.devices)
		}
		if i == 0 || pods < least.Pods {
			least.Pods = pods
		}
		if i == 0 || devices < least.Devices {
			least.Devices = devices
		}
	}
	return least
}

type wholes struct {
	// devices and pods of each gang that leaves as a whole or not at all, the smallest first.
	devices    []int64
	pods       []int
	sumDevices int64
	sumPods    int
}

func (s *search) wholes(d *domain) wholes {
	var all wholes
	for _, t := range d.occupants {
		if w := s.workloads[t.workload]; w.Gang && w.rigid() {
			all.devices = append(all.devices, sum(w.devices))
			all.pods = append(all.pods, len(w.Pods))
		}
	}
	slices.Sort(all.devices)
	slices.Sort(all.pods)
	return all
}

func sum(amounts []int64) (total int64) {
	for _, amount := range amounts {
		total += amount
	}
	return total
}

package preemption

import "cmp"

// Cost is what a choice of victims costs. What stands first weighs more than all that follows.
type Cost struct {
	// Violations is by how many pods PodDisruptionBudgets are overdrawn.
	Violations int
	// Priority is the highest priority of the victims.
	Priority int32
	// Gangs is how many gangs lose all their pods.
	Gangs int
	// Devices and Pods are how many of each are lost.
	Devices int64
	Pods    int
}

// Compare is negative if c is the smaller loss.
func (c Cost) Compare(other Cost) int {
	return cmp.Or(
		cmp.Compare(c.Violations, other.Violations),
		cmp.Compare(c.Priority, other.Priority),
		cmp.Compare(c.Gangs, other.Gangs),
		cmp.Compare(c.Devices, other.Devices),
		cmp.Compare(c.Pods, other.Pods),
	)
}

func (s *search) costOf(taken set) Cost {
	var cost Cost
	drawn := make([]int, len(s.q.Budgets))
	for i := range taken {
		w, leaving := s.workloads[i], 0
		for p := range w.Pods {
			if !taken.has(i, p) {
				continue
			}
			leaving++
			cost.Devices += w.devices[p]
			for _, budget := range w.Pods[p].Budgets {
				drawn[budget]++
			}
		}
		if cost.Pods == 0 || w.Priority > cost.Priority {
			cost.Priority = w.Priority
		}
		cost.Pods += leaving
		if w.Gang && leaving == len(w.Pods) {
			cost.Gangs++
		}
	}
	cost.Violations = violations(drawn, s.q.Budgets)
	return cost
}

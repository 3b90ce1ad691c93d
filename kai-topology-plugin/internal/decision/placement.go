package decision

import (
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Placement says how close together an answer puts a gang of which so many pods were pending; nil if no group with pods
// prefers a level. Where every pod has a node, groups that are each in one domain are in the fewest, however they were
// found. Where some have none, other pods in their place might have needed fewer domains.
func (a *Answer) Placement(pending int) *scheduling.PlacementStatus {
	used, prefer := 0, 0
	for i := range a.Groups {
		if a.Groups[i].Used > 0 {
			used += a.Groups[i].Used
			prefer++
		}
	}
	if prefer == 0 {
		return nil
	}
	placed := &scheduling.PlacementStatus{Domains: int32(used), Fewest: scheduling.FewestNotProved}
	if a.Optimal || used == prefer && len(a.Nodes) == pending {
		placed.Fewest = scheduling.FewestYes
	}
	return placed
}

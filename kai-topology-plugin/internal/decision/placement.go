package decision

import (
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Placement says how close together an answer puts a gang of which so many pods were pending; nil if no group with pods
// prefers a level, and it is not known how far apart they stand. Where every pod has a node, groups that are each in
// one domain are in the fewest, however they were found. Where some have none, other pods in their place might have
// needed fewer domains.
func (a *Answer) Placement(pending int) *scheduling.PlacementStatus {
	used, prefer := 0, 0
	placed := scheduling.PlacementStatus{Hops: a.hops()}
	for i := range a.Groups {
		if a.Groups[i].Used > 0 {
			used += a.Groups[i].Used
			prefer++
		}
	}
	if prefer > 0 {
		placed.Domains, placed.Fewest = int32(used), scheduling.FewestNotProved
		if a.Optimal || used == prefer && len(a.Nodes) == pending {
			placed.Fewest = scheduling.FewestYes
		}
	}
	if placed == (scheduling.PlacementStatus{}) {
		return nil
	}
	return &placed
}

// hops adds up those of all groups; nil if none has any.
func (a *Answer) hops() *scheduling.HopsStatus {
	var all *scheduling.HopsStatus
	for i := range a.Groups {
		if h := a.Groups[i].Hops; h != nil {
			if all == nil {
				all = &scheduling.HopsStatus{}
			}
			all.Pairs, all.Sum = all.Pairs+h.Pairs, all.Sum+h.Sum
			all.Least, all.Most = all.Least+h.Least, all.Most+h.Most
		}
	}
	return all
}

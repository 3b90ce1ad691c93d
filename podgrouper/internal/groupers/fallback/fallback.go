// Package fallback groups the pods of workloads that no other grouper knows, and pods without an owner: one group, of which
// any single pod may start.
package fallback

import "packtree.dev/podgrouper/internal/grouping"

// Grouper groups workloads of any kind.
var Grouper = grouping.Grouper{Group: group}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	return grouping.Group{MinMember: new(int32(1)), Constraint: constraint, Problems: problems}
}

// Package fallback groups the pods of workloads without a grouper of their own, and pods without an owner: one group,
// in which any single pod may start, unless the workload's annotation asks for more together.
package fallback

import "packtree.dev/podgrouper/internal/grouping"

// Grouper groups workloads of any kind.
var Grouper = grouping.Grouper{Group: group}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	minMember, wrong := grouping.OwnMinMember(w.Owner, limit(w.Owner))
	return grouping.Group{MinMember: &minMember, Constraint: constraint, Problems: append(problems, wrong...)}
}

// limit is 1 for a pod. How many pods other workloads have is not known.
func limit(owner grouping.Owner) grouping.Limit {
	if owner.Kind.Group == "" && owner.Kind.Kind == "Pod" {
		return grouping.Limit{Pods: 1}
	}
	return grouping.Limit{}
}

// Package job groups the pods of a batch Job: one group, of which as many pods start together as the Job's annotation says.
package job

import "packtree.dev/podgrouper/internal/grouping"

// Grouper groups batch Jobs.
var Grouper = grouping.Grouper{Group: group, Template: []string{"spec", "template"}}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	minMember, wrong := grouping.MinMember(w.Owner, concurrentPods(w.Owner.Content))
	return grouping.Group{MinMember: &minMember, Constraint: constraint, Problems: append(problems, wrong...)}
}

// concurrentPods returns how many pods the Job runs at the same time; 0 if it is halted or its spec is not known.
func concurrentPods(job grouping.Fields) int32 {
	if job == nil {
		return 0
	}
	parallelism := job.Count(1, "spec", "parallelism")
	return min(parallelism, job.Count(parallelism, "spec", "completions"))
}

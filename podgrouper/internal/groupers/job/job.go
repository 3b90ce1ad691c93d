// Package job groups the pods of a batch Job: one group, of which as many pods start together as the Job's annotation says.
package job

import "packtree.dev/podgrouper/internal/grouping"

// Grouper groups batch Jobs.
var Grouper = grouping.Grouper{Group: group}

func group(w grouping.Workload) grouping.Group {
	pods := grouping.TemplateAt(w.Owner.Content, nil, "spec", "template")
	constraint, problems := grouping.FromOwners(w, pods)
	minMember, wrong := grouping.OwnMinMember(w.Owner, limit(w.Owner.Content))
	return grouping.Group{
		MinMember:  &minMember,
		Constraint: constraint,
		Templates:  []grouping.Template{pods},
		Problems:   append(problems, wrong...),
	}
}

// limit returns how many pods the Job runs at a time; that is not known where its spec is not.
func limit(job grouping.Fields) grouping.Limit {
	if job == nil {
		return grouping.Limit{}
	}
	return Limit(job.Map("spec"))
}

// Limit returns how many pods a Job with that spec runs at a time.
func Limit(spec grouping.Fields) grouping.Limit {
	parallelism := spec.Count(1, "parallelism")
	completions := spec.Count(parallelism, "completions")
	if completions < parallelism {
		return grouping.Limit{Pods: completions, Raise: "spec.completions"}
	}
	return grouping.Limit{Pods: parallelism, Raise: "spec.parallelism"}
}

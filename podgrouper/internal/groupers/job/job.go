// Package job groups the pods of a batch Job: one group. Its minimum is the number in the Job's annotation, or as
// many pods as are left to run.
package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/podgrouper/internal/grouping"
)

// Grouper groups batch Jobs.
var Grouper = grouping.Grouper{Group: group, Index: Index}

func group(w grouping.Workload) grouping.Group {
	pods := grouping.TemplateAt(w.Owner.Content, nil, "spec", "template")
	constraint, problems := grouping.FromOwners(w, pods)
	limit := limit(w.Owner.Content)
	minMember, wrong := grouping.OwnMinMember(w.Owner, limit)
	return grouping.Group{
		MinMember:  &minMember,
		Left:       left(w.Owner.Content),
		Expected:   limit.Expected(w.Owner.Content),
		Constraint: constraint,
		Templates:  []grouping.Template{pods},
		Indexed:    indexed(w.Owner.Content),
		Problems:   append(problems, wrong...),
	}
}

// limit returns how many pods the Job runs at a time; unknown if its spec was not read.
func limit(job grouping.Fields) grouping.Limit {
	if job == nil {
		return grouping.Limit{}
	}
	return Limit(job.Map("spec"))
}

// left returns how many pods have yet to complete. Complete pods, and pods with an index that has failed for good,
// are not made anew with the last ones, so these must not wait for them. It is at least 1, since a Job that is over
// has no pods to start, and nil while none is complete.
func left(job grouping.Fields) *int32 {
	completions := job.Count(job.Count(1, "spec", "parallelism"), "spec", "completions")
	failed := parseRanges(job.Text("status", "failedIndexes")).count(0, completions)
	done := min(job.Count(0, "status", "succeeded"), completions) + failed
	if done == 0 {
		return nil
	}
	return new(max(completions-done, 1))
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

func indexed(job grouping.Fields) *grouping.Indexed {
	if job.Text("spec", "completionMode") != string(batchv1.IndexedCompletion) {
		return &grouping.Indexed{
			Obstacle: "the pods carry no index: give the Job spec.completionMode Indexed, or remove the annotation",
		}
	}
	return &grouping.Indexed{
		Pods:    job.Count(0, "spec", "completions"),
		AtATime: limit(job).Pods,
		Done:    finished(job).count,
	}
}

// Index returns the completion index that the Job controller gives each pod of an Indexed Job.
func Index(_ grouping.Workload, pod *corev1.Pod) (int32, bool) {
	return grouping.ParseIndex(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
}

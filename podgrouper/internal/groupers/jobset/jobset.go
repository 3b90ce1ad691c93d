// Package jobset groups the pods of a JobSet: a leaf for each of its Jobs, which needs all the pods that the Job runs at a
// time. Jobs that are made only when others are ready or complete need none, since the gang would wait for them for ever.
package jobset

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// Labels that the JobSet controller puts on pods.
const (
	labelReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"
	labelJobIndex      = "jobset.sigs.k8s.io/job-index"
)

// Grouper groups JobSets.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	jobSet := w.Owner.Content
	inOrder := jobSet.Text("spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
	path := field.NewPath("spec", "replicatedJobs")
	for i, replicated := range jobSet.List("spec", "replicatedJobs") {
		later := inOrder && i > 0 || len(replicated.List("dependsOn")) > 0
		own, wrong := grouping.FromAnnotations(replicated.Texts("template", "metadata", "annotations"),
			path.Index(i).Child("template", "metadata", "annotations"))
		tree.Problems = append(tree.Problems, wrong...)
		for job := range replicated.Count(1, "replicas") {
			tree.SubGroups = append(tree.SubGroups, grouping.SubGroup{
				Name:       name(replicated.Text("name"), strconv.Itoa(int(job))),
				MinMember:  new(needed(replicated, later)),
				Constraint: own,
			})
		}
	}
	return tree.OrLeaf()
}

func needed(replicated grouping.Fields, later bool) int32 {
	if later {
		return 0
	}
	parallelism := replicated.Count(1, "template", "spec", "parallelism")
	return min(parallelism, replicated.Count(parallelism, "template", "spec", "completions"))
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	replicated, job := pod.Labels[labelReplicatedJob], pod.Labels[labelJobIndex]
	return name(replicated, job), replicated != "" && job != ""
}

func name(replicated, job string) string {
	return replicated + "-" + job
}

// Package jobset groups the pods of a JobSet: a leaf for each of its Jobs, which needs all the pods that the Job runs at a
// time. Pods that are made only when others are ready, complete or scheduled are not needed, since the gang would wait for
// them for ever.
package jobset

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/groupers/job"
	"packtree.dev/podgrouper/internal/grouping"
)

// Labels that the JobSet controller puts on pods.
const (
	labelReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"
	labelJobIndex      = "jobset.sigs.k8s.io/job-index"
)

// Annotations by which a JobSet, or one of its replicated jobs, has each Job stand alone in a domain. The other pods of a
// Job are then made when its first one has a node, unless nodes were labelled for that beforehand.
const (
	annotationExclusive    = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	annotationNodeSelector = "alpha.jobset.sigs.k8s.io/node-selector"
)

// Grouper groups JobSets.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf, Index: job.Index}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	inOrder := w.Owner.Content.Text("spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
	for i, fields := range w.Owner.Content.List("spec", "replicatedJobs") {
		path := field.NewPath("spec", "replicatedJobs").Index(i)
		replicated := replicatedJob{
			Fields:    fields,
			later:     inOrder && i > 0 || len(fields.List("dependsOn")) > 0,
			jobs:      grouping.TemplateAt(fields, path, "template"),
			pods:      grouping.TemplateAt(fields, path, "template", "spec", "template"),
			exclusive: w.Owner.GetAnnotations(),
		}
		tree.Templates = append(tree.Templates, replicated.jobs, replicated.pods)
		own, wrong := grouping.FromTemplates(replicated.jobs, replicated.pods)
		needed, more := replicated.needed()
		tree.Problems = append(append(tree.Problems, wrong...), more...)
		for index := range fields.Count(1, "replicas") {
			tree.SubGroups = append(tree.SubGroups, grouping.SubGroup{
				Name:       name(fields.Text("name"), strconv.Itoa(int(index))),
				MinMember:  new(needed),
				Constraint: own,
				Templates:  []grouping.Template{replicated.jobs, replicated.pods},
				Indexed:    replicated.indexed(),
			})
		}
	}
	return tree.OrLeaf()
}

// replicatedJob is one entry of the JobSet.
type replicatedJob struct {
	grouping.Fields
	later      bool
	jobs, pods grouping.Template
	// exclusive are the annotations of the JobSet, which hold for each Job.
	exclusive map[string]string
}

// needed returns how many pods of each Job start together.
func (r replicatedJob) needed() (int32, field.ErrorList) {
	limit := job.Limit(r.Map("template", "spec"))
	needed, wrong := grouping.MinMember(r.jobs.Annotations, r.jobs.Path.Child("annotations"), limit.Pods, limit)
	switch {
	case r.later:
		return 0, wrong
	case r.inTurn():
		return min(needed, 1), wrong
	}
	return needed, wrong
}

// inTurn reports whether the first pod of a Job must have a node before the others are made.
func (r replicatedJob) inTurn() bool {
	return oneAfterOther(r.exclusive) || oneAfterOther(r.jobs.Annotations)
}

// indexed knows of no pods that are done: only the Jobs say so. A JobSet makes its Jobs Indexed unless they say otherwise.
func (r replicatedJob) indexed() *grouping.Indexed {
	if r.Text("template", "spec", "completionMode") == string(batchv1.NonIndexedCompletion) {
		return &grouping.Indexed{Obstacle: "the pods carry no index: give the template spec.completionMode Indexed, or remove the annotation"}
	}
	atATime := job.Limit(r.Map("template", "spec")).Pods
	return &grouping.Indexed{Pods: r.Count(atATime, "template", "spec", "completions"), AtATime: atATime, InTurn: r.inTurn()}
}

func oneAfterOther(annotations map[string]string) bool {
	_, exclusive := annotations[annotationExclusive]
	_, labelled := annotations[annotationNodeSelector]
	return exclusive && !labelled
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	replicated, job := pod.Labels[labelReplicatedJob], pod.Labels[labelJobIndex]
	return name(replicated, job), replicated != "" && job != ""
}

func name(replicated, job string) string {
	return replicated + "-" + job
}
